/** A worker process, as PM2 or `node server/main.ts` starts it: configured by the environment, stopped by a signal. */

import { sendToParent } from '../protocol/base/send-to-parent.ts';
import { describeError } from '../protocol/codes/errors.ts';
import { createApp } from './app.ts';
import { parseConfig } from './config.ts';
import { createPlainApp } from './plain/plain-app.ts';

/** How long a shutdown can take beyond its drain before the process exits anyway. */
const SHUTDOWN_GRACE_MS = 2000;

try {
  const config = parseConfig(process.env);
  const app = config.plain ? createPlainApp(config) : await createApp(config);

  let stopping = false;
  const stop = () => {
    // A second signal exits at once.
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), config.drainMs + SHUTDOWN_GRACE_MS).unref();
    app.close().then(() => process.exit(0), fail);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // PM2's daemon has died, so nothing else will stop this worker.
  process.on('disconnect', stop);

  await app.start();
  // For PM2's wait_ready.
  sendToParent('ready');
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  console.error(describeError(error));
  process.exit(1);
}
