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

export interface RedisTraffic {
  version: string;
  /** Received and sent since its start, without what this reader sent and received. */
  inBytes: number;
  outBytes: number;
  /** With subscribers. */
  channels: number;
  patterns: number;
  /** Null before Redis 7.0. */
  shardChannels: number | null;
}

/** A Redis that stopped answering must not hold up a sample. */
const TIMEOUT_MS = 1000;

export class RedisReader {
  /** Readings that failed; `lastFailure` is the reason of the last one. */
  failures = 0;
  lastFailure: string | undefined;
  readonly #client;
  /** On the wire, so far. */
  readonly #own = { inBytes: 0, outBytes: 0 };

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
      const answers = Promise.all([this.#ask('INFO'), this.#ask('CLIENT', 'LIST', 'TYPE', 'PUBSUB')]);
      const [info, subscribers] = await within(answers, TIMEOUT_MS);
      return toReading(parseInfo(info), subscribers);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** @returns as `read` */
  async traffic(): Promise<RedisTraffic | undefined> {
    try {
      const answer = within(this.#ask('INFO'), TIMEOUT_MS);
      // Redis has counted this request when it answers, but not the answer.
      const own = { ...this.#own };
      return toTraffic(parseInfo(await answer), own);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  async #ask(...command: string[]): Promise<string> {
    this.#own.inBytes += sizeOfCommand(command);
    const answer = String(await this.#client.sendCommand(command));
    this.#own.outBytes += sizeOfText(answer);
    return answer;
  }

  #fail(error: unknown): void {
    this.failures++;
    if (this.#client.isReady || this.lastFailure === undefined) this.lastFailure = (error as Error).message;
  }

  /** Idempotent. */
  close(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }
}

/** @param subscribers as `CLIENT LIST` has them, one a line */
function toReading(info: Map<string, string>, subscribers: string): RedisReading {
  const total = (field: string) =>
    [...subscribers.matchAll(new RegExp(` ${field}=(\\d+)`, 'g'))].reduce((sum, [, value]) => sum + Number(value), 0);
  return {
    runId: info.get('run_id') ?? '',
    usedMemoryBytes: figure(info, 'used_memory'),
    rssBytes: figure(info, 'used_memory_rss'),
    pubSubOutputBytes: total('omem'),
    pubSubTotalBytes: total('tot-mem'),
  };
}

function toTraffic(info: Map<string, string>, own: { inBytes: number; outBytes: number }): RedisTraffic {
  return {
    version: info.get('redis_version') ?? '',
    inBytes: figure(info, 'total_net_input_bytes') - own.inBytes,
    outBytes: figure(info, 'total_net_output_bytes') - own.outBytes,
    channels: figure(info, 'pubsub_channels'),
    patterns: figure(info, 'pubsub_patterns'),
    shardChannels: info.has('pubsubshard_channels') ? figure(info, 'pubsubshard_channels') : null,
  };
}

function figure(info: Map<string, string>, key: string): number {
  const value = Number(info.get(key));
  if (Number.isNaN(value)) throw new Error(`INFO has no ${key}`);
  return value;
}

/** An array of bulk strings. */
function sizeOfCommand(command: string[]): number {
  const arrayHead = `*${command.length}\r\n`.length;
  return command.reduce((sum, { length }) => sum + `$${length}\r\n`.length + length + 2, arrayHead);
}

/** A verbatim string of RESP3: `=15\r\ntxt:Some string\r\n`. */
function sizeOfText(text: string): number {
  const length = Buffer.byteLength(text) + 'txt:'.length;
  return `=${length}\r\n`.length + length + 2;
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
