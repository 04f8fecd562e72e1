/**
 * Runs servers with known behaviour in separate processes. In the same process, a shared event loop would change the
 * behaviour. The file contains the code of both parent and child.
 */
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { stopChildProcess } from '../../protocol/base/stop-child-process.ts';
import { firstMessage } from '../wait-for-message.ts';

const CLOSE_TIMEOUT_MS = 5000;

/**
 * Code of the child. It starts with the parent's configuration, replies to each message with the true values, and ends
 * with the parent. Without an IPC channel, it prints the addresses to stdout.
 * @param nothing returns the true values of an idle server
 * @param start returns the server's addresses; `truth` returns the object to which the server adds its true values
 * since the last request
 */
export async function serveKnownProcess<Config, Started, Truth>(
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
  // Ctrl-C reaches the whole process group. This process ignores it, because the parent decides when it ends.
  process.on('SIGINT', () => {});
  if (process.send) process.send(started);
  else console.log(JSON.stringify(started));
}

/** A running known server, as the parent sees it. */
export interface KnownProcess<Started, Truth> {
  pid: number;
  started: Started;
  /** Returns the true values since the last request. */
  truth(): Promise<Truth>;
  /** Closes the server. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Starts a known server.
 * @param module file in this folder, such as `known-server.ts`
 * @param execArgv options of Node
 * @throws Error if the server ends instead of starting; its own error is on stderr
 */
export async function startKnownProcess<Started, Truth>(
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
    close: onlyOnce(() => stopChildProcess(child, () => child.disconnect(), CLOSE_TIMEOUT_MS)),
  };
}
