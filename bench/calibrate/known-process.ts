/**
 * Servers with known behaviour run in separate processes, because sharing an event loop with the measurement would
 * change that behaviour. This file has both ends of the connection to them.
 */
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endChild } from '../../protocol/base/end-child.ts';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { firstMessage } from '../wait-for-message.ts';

const CLOSE_TIMEOUT_MS = 5000;

/**
 * In the child: starts with the parent's configuration, replies to each message with the truth, ends with the parent. A parent
 * without a channel reads on standard output that it has started.
 * @param nothing the truth of a server that has done nothing yet
 * @param start returns the server's addresses; `truth` is what it has done since the last request, for it to add to
 */
export async function serve<Config, Started, Truth>(
  nothing: () => Truth,
  start: (config: Config, truth: () => Truth) => Promise<Started>,
): Promise<void> {
  let truth = nothing();
  const started = await start(JSON.parse(process.argv[2] as string) as Config, () => truth);
  process.on('message', () => {
    process.send?.(truth as Serializable);
    truth = nothing();
  });
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches the whole process group; the parent decides when this process ends.
  process.on('SIGINT', () => {});
  if (process.send) process.send(started);
  else console.log(JSON.stringify(started));
}

/** In the parent: a running known server. */
export interface KnownProcess<Started, Truth> {
  pid: number;
  started: Started;
  /** What it did since the last request. */
  truth(): Promise<Truth>;
  /** Idempotent. */
  close(): Promise<void>;
}

/**
 * @param module beside this file, such as `known-server.ts`
 * @param execArgv for Node
 * @throws Error if it ends instead of starting; its own message is on stderr
 */
export async function startKnown<Started, Truth>(
  module: string,
  config: object,
  execArgv: string[] = [],
): Promise<KnownProcess<Started, Truth>> {
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), [JSON.stringify(config)], {
    execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
  });
  return {
    started: (await firstMessage(child, module)) as Started,
    pid: child.pid as number,
    async truth() {
      const answer = once(child, 'message');
      child.send('truth');
      const [truth] = await answer;
      return truth as Truth;
    },
    close: onlyOnce(() => endChild(child, () => child.disconnect(), CLOSE_TIMEOUT_MS)),
  };
}
