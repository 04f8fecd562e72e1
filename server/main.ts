/**
 * A worker process, started by PM2 or by `node server/main.ts`. Environment variables configure it, and a signal stops
 * it.
 */

import { sendToParent } from '../protocol/base/send-to-parent.ts';
import { describeError } from '../protocol/codes/errors.ts';
import { createServerApp } from './app.ts';
import { parseServerConfig } from './config.ts';
import { createPlainApp } from './plain/plain-app.ts';

/** Time for a shutdown in addition to the drain, in milliseconds. After it, the process exits in any case. */
const SHUTDOWN_GRACE_MS = 2000;

try {
  const config = parseServerConfig(process.env);
  const app = config.plain ? createPlainApp(config) : await createServerApp(config);

  let stopping = false;
  const stop = () => {
    // A second signal exits immediately.
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), config.drainMs + SHUTDOWN_GRACE_MS).unref();
    app.close().then(() => process.exit(0), fail);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The daemon of PM2 has died, so nothing else would stop this worker.
  process.on('disconnect', stop);

  await app.start();
  // PM2's option wait_ready waits for this message.
  sendToParent('ready');
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  console.error(describeError(error));
  process.exit(1);
}
