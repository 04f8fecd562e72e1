/** Connects the run to all engines: sends requests, collects the replies, and keeps each engine's latest status. */

import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { getOrAdd } from '../../protocol/base/get-or-add.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { sumDeep } from '../../protocol/link/add-up.ts';
import type { MessageCarrier } from '../../protocol/link/carrier.ts';
import { type MessageCounts, type MessageStage, NO_MESSAGE_COUNTS } from '../../protocol/link/client-messages.ts';
import type { FaultCommand } from '../../protocol/link/fault-messages.ts';
import type { FreezeRequest, FrozenBroadcast, OwnEventSightings } from '../../protocol/link/ledger-messages.ts';
import type { EngineIdentity, EngineMessage, RunMessage, WarmUpRequest } from '../../protocol/link/link-messages.ts';
import type { FleetSnapshot, FleetStatus } from '../../protocol/link/snapshot.ts';
import type { EventCounts } from '../../protocol/link/time-series.ts';

export type EngineSnapshot = FleetSnapshot & { from: EngineIdentity };

/**
 * A ledger row, which contains the receipts of a broadcast. If there are several hosts, it also has the name of the
 * host.
 */
export type HostedRow = FrozenBroadcast & { host?: string };

interface LinkOptions {
  replyTimeoutMs?: number;
  /** Number of generator hosts; undefined if this host alone generates the load. */
  hosts?: number;
  /** How long a generator host may be disconnected, in milliseconds. After this time, the host counts as lost. */
  awayMs?: number;
}

type Reply = Extract<EngineMessage, { requestId: number }>;

/**
 * Time in milliseconds without a reply after which an engine counts as dead, for example because its worker thread
 * crashed.
 */
const REPLY_TIMEOUT_MS = 20_000;
/**
 * Time limit for each further engine to start, in milliseconds. Artillery starts engines one after the other, and each
 * start takes one or two seconds.
 */
const READY_TIMEOUT_MS = 60_000;
/**
 * Time between the start message and the first arrival, if there are several hosts. Artillery starts a worker every 50
 * ms.
 */
const START_LEAD_US = { always: 500_000, eachEngine: 60_000 };

/** Ledger rows that all engines together send for one request: a conductor that shares its core reads 200 a second. */
const ROWS_PER_REQUEST = 2000;

/** Status of an engine that has not reported yet. */
export const NO_STATUS: FleetStatus = {
  started: 0,
  others: 0,
  connecting: 0,
  connected: 0,
  joined: 0,
  holding: 0,
  failed: 0,
  opened: 0,
  failedAttempts: 0,
  failures: {},
  ended: {},
  received: 0,
  reached: 0,
  joining: 0,
  upgrading: 0,
  away: 0,
  loopLateMs: 0,
};

export class EngineLink {
  onFailed: (failure: Extract<EngineMessage, { type: 'failed' }>) => void = () => {};
  /** Number of requests that an engine did not answer. */
  unanswered = 0;
  /** Names of the hosts with an engine that did not answer. */
  readonly silentHosts = new Set<string>();
  /** Engines on lost hosts. The last status of these engines still counts. */
  readonly gone = new Set<string>();
  readonly #carrier: MessageCarrier<RunMessage, EngineMessage>;
  readonly #replyTimeoutMs: number;
  readonly #awayMs: number;
  readonly #hosts: number | undefined;
  readonly #ready = Promise.withResolvers<void>();
  #readyTimer: NodeJS.Timeout | undefined;
  /** Engines of each host: how many there are, and how many are ready. */
  readonly #engines = new Map<string, { all: number; ready: number }>();
  #completeHosts = 0;
  #started = false;
  readonly #statuses = new Map<string, FleetStatus>();
  readonly #waiting = new Map<number, { engines: Set<string>; replies: Reply[]; done: () => void }>();
  #nextRequest = 1;

  /** @param carrier transport of the messages; `close()` closes it */
  constructor(
    carrier: MessageCarrier<RunMessage, EngineMessage>,
    { replyTimeoutMs = REPLY_TIMEOUT_MS, hosts, awayMs = 0 }: LinkOptions = {},
  ) {
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#awayMs = awayMs;
    this.#hosts = hosts;
    // Prevents an unhandled rejection, because this promise is not awaited if the start fails earlier.
    this.#ready.promise.catch(() => {});
    this.#carrier = carrier;
    carrier.onMessage = (message) => this.#receive(message);
  }

  get status(): FleetStatus {
    return sumDeep(this.#statuses.values(), NO_STATUS);
  }

  /**
   * Number of first copies of broadcasts so far, by engine. Excludes engines on lost hosts, because their counts no
   * longer change.
   */
  get reached(): ReadonlyMap<string, number> {
    const answering = [...this.#statuses].filter(([engine]) => !this.gone.has(engine));
    return new Map(answering.map(([engine, { reached }]) => [engine, reached]));
  }

  statusOf(host: string): FleetStatus {
    const own = [...this.#statuses].filter(([engine]) => hostOf(engine) === host);
    const statuses = own.map(([, status]) => status);
    return sumDeep(statuses, NO_STATUS);
  }

  /**
   * Waits for all engines of all hosts.
   * @throws CapacityError ENGINE_NOT_READY, or the signal's reason
   */
  async ready(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#ready.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#readyTimer = setTimeout(() => this.#ready.reject(engineMissing()), READY_TIMEOUT_MS);
    try {
      await this.#ready.promise;
    } finally {
      clearTimeout(this.#readyTimer);
      this.#readyTimer = undefined;
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Divides the warm-up connections between the engines. Resolves when all warm-up connections have closed.
   * @throws Error of the first failed connection, or if an engine does not reply
   */
  async warmUp({ connections, ...order }: WarmUpRequest): Promise<void> {
    const engines = this.#statuses.size;
    const share = Math.ceil(connections / engines);
    const replies = await this.#ask((requestId) => ({
      type: 'warm-up',
      requestId,
      order: { ...order, connections: share },
    }));
    for (const reply of replies) if (reply.type === 'warmed' && reply.failure) throw new Error(reply.failure);
    if (replies.length < engines) throw new Error('an Artillery worker did not answer');
  }

  /** Starts the arrivals in all engines. Engines that become ready later start their arrivals then. */
  start(): void {
    this.#started = true;
    const { always, eachEngine } = START_LEAD_US;
    const leadUs = always + eachEngine * Math.max(0, ...[...this.#engines.values()].map(({ all }) => all));
    const atUs = this.#hosts === undefined ? {} : { atUs: monotonicUs() + leadUs };
    this.#carrier.send({ type: 'start', ...atUs });
  }

  tell(message: Extract<RunMessage, { type: 'release' | 'finish' }>): void {
    this.#carrier.send(message);
  }

  async snapshots(): Promise<EngineSnapshot[]> {
    const replies = await this.#ask((requestId) => ({ type: 'snapshot', requestId }));
    return replies.flatMap((reply) => (reply.type === 'snapshot' ? [{ ...reply.snapshot, from: reply.from }] : []));
  }

  /** Finalizes the rows of broadcasts, as many per request as the engines can answer for in time. */
  async freeze(broadcasts: FreezeRequest[]): Promise<HostedRow[]> {
    const perRequest = Math.max(1, Math.floor(ROWS_PER_REQUEST / Math.max(1, this.#statuses.size)));
    const rows = await this.#freeze(broadcasts.slice(0, perRequest));
    for (let done = perRequest; done < broadcasts.length; done += perRequest) {
      for (const row of await this.#freeze(broadcasts.slice(done, done + perRequest))) rows.push(row);
    }
    return rows;
  }

  async #freeze(broadcasts: FreezeRequest[]): Promise<HostedRow[]> {
    const replies = await this.#ask((requestId) => ({ type: 'freeze', requestId, broadcasts }));
    return replies.flatMap((reply) => {
      if (reply.type !== 'frozen') return [];
      return this.#hosts === undefined ? reply.rows : reply.rows.map((row) => ({ ...row, host: reply.from.host }));
    });
  }

  /**
   * Reads which broadcasts of the server's own event have arrived.
   * @param watch whether to count new ids from now on
   * @param outside ids whose ledger rows are discarded
   * @returns the ids that each fleet process received
   */
  async sight(watch: boolean, outside: string[] = []): Promise<OwnEventSightings[]> {
    const replies = await this.#ask((requestId) => ({ type: 'sight', requestId, watch, outside }));
    return replies.flatMap((reply) => (reply.type === 'sighted' ? reply.sightings : []));
  }

  /**
   * Begins a stage in which messages are counted.
   * @returns the counts before this stage, summed over all fleets
   */
  async messages(stage: MessageStage): Promise<MessageCounts> {
    const replies = await this.#ask((requestId) => ({ type: 'messages', requestId, stage }));
    const counts = replies.flatMap((reply) => (reply.type === 'messages' ? [reply.counts] : []));
    return sumDeep(counts, NO_MESSAGE_COUNTS);
  }

  /** Reads the number of copies since the last call, for events without ids. */
  async events(): Promise<EventCounts[]> {
    const replies = await this.#ask((requestId) => ({ type: 'events', requestId }));
    return replies.flatMap((reply) => (reply.type === 'events' ? reply.events : []));
  }

  /** Reports the start or the end of a fault to all fleets. Resolves when all fleets have confirmed. */
  async fault(order: FaultCommand): Promise<void> {
    await this.#ask((requestId) => ({ type: 'fault', requestId, order }));
  }

  /** Closes all connections of the engines. A disconnected host closes its own connections. Idempotent. */
  async close(): Promise<void> {
    await this.#ask((requestId) => ({ type: 'close', requestId }), this.#replyTimeoutMs);
    this.#carrier.close();
    this.#statuses.clear();
  }

  #ask(message: (requestId: number) => RunMessage, timeoutMs = this.#replyTimeoutMs + this.#awayMs): Promise<Reply[]> {
    const engines = new Set(this.#statuses.keys());
    const requestId = this.#nextRequest++;
    if (engines.size === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.unanswered += waiting.engines.size;
        if (this.#hosts !== undefined) for (const engine of waiting.engines) this.silentHosts.add(hostOf(engine));
        waiting.done();
      }, timeoutMs);
      const waiting = {
        engines,
        replies: [] as Reply[],
        done: () => {
          clearTimeout(timer);
          this.#waiting.delete(requestId);
          resolve(waiting.replies);
        },
      };
      this.#waiting.set(requestId, waiting);
      this.#carrier.send(message(requestId));
    });
  }

  #countReady({ host, engine }: EngineIdentity, all: number): void {
    const engines = getOrAdd(this.#engines, host, () => ({ all, ready: 0 }));
    if (!this.#statuses.has(keyOf({ host, engine })) && ++engines.ready === engines.all) this.#completeHosts++;
    if (this.#completeHosts >= (this.#hosts ?? 1) && this.#completeHosts === this.#engines.size) this.#ready.resolve();
  }

  #receive(message: EngineMessage): void {
    const engine = keyOf(message.from);
    if (message.type === 'ready') {
      this.#countReady(message.from, message.engines);
      this.#statuses.set(engine, { ...NO_STATUS });
      this.#readyTimer?.refresh();
      if (this.#started) this.start();
    } else if (message.type === 'status') this.#statuses.set(engine, message.status);
    else if (message.type === 'gone') this.gone.add(engine);
    else if (message.type === 'failed') this.onFailed(message);
    else if (message.type !== 'began') {
      const waiting = this.#waiting.get(message.requestId);
      waiting?.replies.push(message);
      waiting?.engines.delete(engine);
      if (waiting?.engines.size === 0) waiting.done();
    }
  }
}

function keyOf({ host, engine }: EngineIdentity): string {
  return `${host}/${engine}`;
}

function hostOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

function engineMissing(): CapacityError {
  return new CapacityError('ENGINE_NOT_READY', `no engine became ready within ${READY_TIMEOUT_MS / 1000} s`);
}
