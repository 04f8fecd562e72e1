/**
 * Servers with a known truth run in processes of their own: sharing an event loop with whoever measures them would
 * change what they do. This is both ends of the line to them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endChild } from '../../protocol/end-child.ts';

const CLOSE_TIMEOUT_MS = 5000;

/** What a known server's module hands to `serve`. */
export interface Known<Started, Truth> {
  /** Addresses. */
  started: Started;
  /** What it did since it was last asked. */
  truth(): Truth;
}

/** In the child: starts with the parent's configuration, answers every message with the truth, ends with the parent. */
export async function serve<Config, Started, Truth>(
  start: (config: Config) => Promise<Known<Started, Truth>>,
): Promise<void> {
  const { started, truth } = await start(JSON.parse(process.argv[2] as string) as Config);
  process.on('message', () => process.send?.(truth()));
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches the whole group of a terminal; the parent decides when it ends.
  process.on('SIGINT', () => {});
  process.send?.(started);
}

/** In the parent: a known server that runs. */
export class KnownProcess<Started, Truth> {
  readonly pid: number;
  readonly started: Started;
  readonly #child: ChildProcess;
  #closing: Promise<void> | undefined;

  private constructor(child: ChildProcess, started: Started) {
    this.pid = child.pid as number;
    this.started = started;
    this.#child = child;
  }

  /**
   * @param module beside this file, such as `known-server.ts`
   * @param execArgv for Node
   * @throws Error when it ends instead of starting; its own message is on stderr then
   */
  static async start<Started, Truth>(
    module: string,
    config: object,
    execArgv: string[] = [],
  ): Promise<KnownProcess<Started, Truth>> {
    const child = fork(fileURLToPath(new URL(module, import.meta.url)), [JSON.stringify(config)], {
      execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
    });
    const started = new AbortController();
    const failed = once(child, 'exit', { signal: started.signal }).then(() => {
      throw new Error(`${module} did not start`);
    });
    try {
      const [message] = await Promise.race([once(child, 'message'), failed]);
      return new KnownProcess<Started, Truth>(child, message as Started);
    } finally {
      failed.catch(() => {});
      started.abort();
    }
  }

  /** What it did since it was last asked. */
  async truth(): Promise<Truth> {
    const answer = once(this.#child, 'message');
    this.#child.send('truth');
    const [truth] = await answer;
    return truth as Truth;
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closing ??= endChild(this.#child, () => this.#child.disconnect(), CLOSE_TIMEOUT_MS);
    return this.#closing;
  }
}
