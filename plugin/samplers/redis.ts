/** Reads what Redis reports about its memory. Owns one connection, which reconnects by itself. */
import { createClient } from 'redis';

export interface RedisReading {
  /** Another one after each start. */
  runId: string;
  usedMemoryBytes: number;
  rssBytes: number;
  /** Output buffers of subscribed connections: grow when a worker falls behind. */
  pubSubOutputBytes: number;
  /** All memory of subscribed connections, output buffers included. */
  pubSubTotalBytes: number;
}

/** A Redis that stopped answering must not hold up a sample. */
const TIMEOUT_MS = 1000;

export class RedisReader {
  /** Readings that failed; `lastFailure` is the reason of the last one. */
  failures = 0;
  lastFailure: string | undefined;
  readonly #client;

  /** @param url redis://[[user]:password@]host[:port]; connects in the background after `ready()` */
  constructor(url: string) {
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: 500 },
    });
    this.#client.on('error', (error: Error) => {
      this.lastFailure = (error as NodeJS.ErrnoException).code ?? error.message;
    });
  }

  /** Waits for the first connection, or its first failure, so that an early reading is not lost. Never rejects. */
  async ready(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#client.once('ready', resolve);
      this.#client.once('error', () => resolve());
      // Rejects only if closed meanwhile; failures to connect are emitted as 'error' and retried.
      this.#client.connect().catch(() => resolve());
    });
  }

  /** @returns undefined, and counts a failure, if Redis does not answer. Never throws. */
  async read(): Promise<RedisReading | undefined> {
    try {
      const answers = Promise.all([this.#client.info(), this.#client.clientList({ TYPE: 'PUBSUB' })]);
      const [info, subscribers] = await within(answers, TIMEOUT_MS);
      return toReading(parseInfo(info), subscribers);
    } catch (error) {
      this.failures++;
      if (this.#client.isReady || this.lastFailure === undefined) this.lastFailure = (error as Error).message;
      return undefined;
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }
}

function toReading(info: Map<string, string>, subscribers: { omem: number; totMem?: number }[]): RedisReading {
  const figure = (key: string) => {
    const value = Number(info.get(key));
    if (Number.isNaN(value)) throw new Error(`INFO has no ${key}`);
    return value;
  };
  return {
    runId: info.get('run_id') ?? '',
    usedMemoryBytes: figure('used_memory'),
    rssBytes: figure('used_memory_rss'),
    pubSubOutputBytes: subscribers.reduce((sum, client) => sum + client.omem, 0),
    pubSubTotalBytes: subscribers.reduce((sum, client) => sum + (client.totMem ?? 0), 0),
  };
}

/** `INFO`'s `key:value` lines. */
export function parseInfo(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^([a-z_0-9]+):(.*?)\r?$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']));
}

async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  // The promise can still reject after the timeout, and must not become an unhandled rejection.
  promise.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
