/** Reads the figures that one Redis node reports, over a connection that reconnects automatically. */
import { createClient, ErrorReply } from 'redis';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import { SourceAbsentError } from '../absence.ts';
import { TimeLimitError, withTimeLimit } from '../late-answers.ts';

type NodeReading = ReturnType<typeof toReading>;
export type RedisFigures = NodeReading['figures'];

export type RedisTraffic = Awaited<ReturnType<RedisNode['traffic']>>;

/** Timeout of an answer in milliseconds. It is short, because a Redis that does not answer must not delay a sample. */
const TIMEOUT_MS = 1000;

export class RedisNode {
  /** Why the last reading failed: an `ErrorReply` of Redis, or a `SourceAbsentError`. */
  lastFailure: Error | undefined;
  /** `host:port` */
  readonly address: string;
  readonly #client;
  /** Bytes of this reader's own requests and their answers so far. */
  readonly #own = { inBytes: 0, outBytes: 0 };

  /** @param url redis://[[user]:password@]host[:port]; the connection opens after `ready()` */
  constructor(url: string) {
    this.address = new URL(url).host;
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: 500 },
    });
    this.#client.on('error', (error: Error) => {
      this.lastFailure = asAbsent(error);
    });
  }

  /** Connects to the node, and waits until the first attempt has succeeded or failed. Never rejects. */
  async ready(): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      this.#client.once('ready', resolve);
      this.#client.once('error', () => resolve());
      // The promise rejects only if the client is closed in the meantime. Failed connects are emitted as `error`.
      this.#client.connect().catch(() => resolve());
    });
    // The Redis client has no time limit for the time after the TCP connection has opened.
    await withTimeLimit(answered, TIMEOUT_MS).catch((error: TimeLimitError) => {
      this.lastFailure = error;
    });
  }

  /**
   * Returns the addresses of all cluster nodes that have hash slots; empty if this node is not in a cluster. Never
   * rejects.
   */
  async clusterNodes(): Promise<string[]> {
    try {
      const ranges = await withTimeLimit(this.#client.clusterSlots(), TIMEOUT_MS);
      return [...new Set(ranges.map(({ master: { host, port } }) => `${host}:${port}`))].sort();
    } catch {
      return [];
    }
  }

  /** Returns whether the node answers; a refusal counts as an answer. Never rejects. */
  async answers(): Promise<boolean> {
    try {
      await withTimeLimit(this.#client.sendCommand(['PING']), TIMEOUT_MS);
      return true;
    } catch (error) {
      this.#note(error as Error);
      return this.lastFailure instanceof ErrorReply;
    }
  }

  /**
   * Reads the node's figures.
   * @throws Error if the node does not answer; `ErrorReply` if it refuses this user
   */
  read(): Promise<NodeReading> {
    return this.#noting(async () => {
      const subscribing = this.#ask('CLIENT', 'LIST', 'TYPE', 'PUBSUB').catch(unlessRefused);
      const answers = Promise.all([this.#ask('INFO'), subscribing]);
      const [info, subscribers] = await withTimeLimit(answers, TIMEOUT_MS);
      return toReading(parseInfo(info), subscribers);
    });
  }

  /**
   * Reads the node's counters of traffic.
   * @param stream key of the adapter's stream, if the adapter uses a stream
   * @throws Error if the node does not answer
   */
  traffic(stream?: string) {
    return this.#noting(async () => {
      /** The number of entries is null without a stream, or if another node of the cluster holds the stream. */
      const streamEntries = stream === undefined ? null : await withTimeLimit(this.#lengthOf(stream), TIMEOUT_MS);
      const answer = withTimeLimit(this.#ask('INFO'), TIMEOUT_MS);
      // Redis's byte counters include this request, but not its answer.
      const own = { ...this.#own };
      return { /** `host:port` */ node: this.address, ...toTraffic(parseInfo(await answer), own), streamEntries };
    });
  }

  /**
   * Returns the number of entries in the stream; null if another node of the cluster holds the stream, or if this user
   * may not read it.
   */
  async #lengthOf(stream: string): Promise<number | null> {
    const command = ['XLEN', stream];
    this.#own.inBytes += sizeOfCommand(command);
    try {
      const length = Number(await this.#client.sendCommand(command));
      this.#own.outBytes += `:${length}\r\n`.length;
      return length;
    } catch (error) {
      if (!(error instanceof ErrorReply) || !/^(MOVED|NOPERM) /.test(error.message)) throw error;
      this.#own.outBytes += `-${error.message}\r\n`.length;
      return null;
    }
  }

  async #ask(...command: string[]): Promise<string> {
    this.#own.inBytes += sizeOfCommand(command);
    const answer = String(await this.#client.sendCommand(command));
    this.#own.outBytes += sizeOfText(answer);
    return answer;
  }

  async #noting<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.#note(error as Error);
      if (error instanceof TimeLimitError) this.#reconnect();
      throw error;
    }
  }

  /** Records why a reading failed. Without a connection, an earlier reason is kept. */
  #note(error: Error): void {
    if (this.#client.isReady || this.lastFailure === undefined) this.lastFailure = asAbsent(error);
  }

  /** Opens a new connection, because a missing answer would block all later answers. */
  #reconnect(): void {
    if (!this.#client.isReady) return;
    this.#client.destroy();
    this.#client.connect().catch(() => {});
  }

  /** Idempotent. */
  close(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }
}

function asAbsent(error: Error): Error {
  if (error instanceof ErrorReply || error instanceof SourceAbsentError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return Object.assign(new SourceAbsentError('unanswered', code ?? message), { code });
}

/**
 * Runs a command.
 * @returns undefined if Redis refuses the command to this user
 * @throws any other error
 */
function unlessRefused(error: Error): undefined {
  if (!(error instanceof ErrorReply)) throw error;
}

/**
 * Converts the lines of `INFO` to figures.
 * @param subscribers lines of `CLIENT LIST`; undefined if this user may not list clients
 */
function toReading(info: Map<string, string>, subscribers: string | undefined) {
  const total = (field: string) =>
    subscribers === undefined
      ? undefined
      : [...subscribers.matchAll(new RegExp(` ${field}=(\\d+)`, 'g'))].reduce(
          (sum, [, value]) => sum + figureOf(value, field),
          0,
        );
  return {
    /** Value that changes with each start of the node, and when the node becomes a replica. */
    runId: `${info.get('run_id')} ${info.get('role')}`,
    figures: {
      usedMemoryBytes: figure(info, 'used_memory'),
      rssBytes: figure(info, 'used_memory_rss'),
      keys: [...info].reduce((sum, [key, value]) => sum + (/^db\d+$/.test(key) ? keysOf(value) : 0), 0),
      channels: optional(info, 'pubsub_channels') + optional(info, 'pubsubshard_channels'),
      patterns: optional(info, 'pubsub_patterns'),
      clients: optional(info, 'connected_clients'),
      /** Bytes in the output buffers of subscribers. The buffers grow when a worker reads too slowly. */
      pubSubOutputBytes: total('omem'),
      /** Memory that Redis uses for subscribers, including output buffers. */
      pubSubTotalBytes: total('tot-mem'),
    },
  };
}

function toTraffic(info: Map<string, string>, own: { inBytes: number; outBytes: number }) {
  return {
    version: info.get('redis_version') ?? '',
    /** Bytes that the node has received since its start, without this reader's own traffic; `outBytes`: bytes sent. */
    inBytes: figure(info, 'total_net_input_bytes') - own.inBytes,
    outBytes: figure(info, 'total_net_output_bytes') - own.outBytes,
    /** CPU time of the node since its start, including this reader's requests. */
    cpuUs: Math.round((figure(info, 'used_cpu_user') + figure(info, 'used_cpu_sys')) * 1e6),
    usedMemoryBytes: figure(info, 'used_memory'),
    rssBytes: figure(info, 'used_memory_rss'),
    channels: figure(info, 'pubsub_channels'),
    /** Number of sharded pub/sub channels; null before Redis 7.0. */
    shardChannels: info.has('pubsubshard_channels') ? figure(info, 'pubsubshard_channels') : null,
  };
}

/**
 * Returns the number of keys from a database line of `INFO`.
 * @param database text such as `keys=12,expires=0,avg_ttl=0`
 */
function keysOf(database: string): number {
  return figureOf(/^keys=(\d+)/.exec(database)?.[1], 'keys');
}

function optional(info: Map<string, string>, key: string): number {
  return info.has(key) ? figure(info, key) : 0;
}

function figure(info: Map<string, string>, key: string): number {
  return figureOf(info.get(key), key);
}

/**
 * Parses a number of `INFO`.
 * @throws SourceAbsentError if the text is not a plausible number
 */
function figureOf(text: string | undefined, key: string): number {
  const value = /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (value <= LARGEST_FIGURE) return value;
  throw new SourceAbsentError('unsupported', `Redis reports no ${key}`);
}

/** Returns the bytes of a command on the wire, as an array of bulk strings. */
function sizeOfCommand(command: string[]): number {
  const arrayHead = `*${command.length}\r\n`.length;
  const lengths = command.map((part) => Buffer.byteLength(part));
  return lengths.reduce((sum, length) => sum + `$${length}\r\n`.length + length + 2, arrayHead);
}

/** Returns the bytes of an answer on the wire, as a verbatim string of RESP3: `=15\r\ntxt:Some string\r\n`. */
function sizeOfText(text: string): number {
  const length = Buffer.byteLength(text) + 'txt:'.length;
  return `=${length}\r\n`.length + length + 2;
}

/** Parses the `key:value` lines of `INFO`. */
export function parseInfo(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^([a-z_0-9]+):(.*?)\r?$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']));
}
