/** The run's end of the link: asks all engines, waits for all of them, and keeps their latest status. */

import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { addUp } from '../../protocol/link/add-up.ts';
import type { Carrier } from '../../protocol/link/carrier.ts';
import { type MessageCounts, type MessageStage, NO_MESSAGES } from '../../protocol/link/client-messages.ts';
import type { FaultOrder } from '../../protocol/link/fault-messages.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link/ledger-messages.ts';
import type { EngineIdentity, EngineMessage, RunMessage, WarmUpOrder } from '../../protocol/link/link-messages.ts';
import type { Sightings } from '../../protocol/link/sightings.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { FleetStatus } from '../../protocol/link/status.ts';

/** What an engine and its fleet have counted, and which engine that is. */
export type EngineSnapshot = FleetSnapshot & { from: EngineIdentity };

/** A ledger row, and which host it is of, if there are several. */
export type HostedRow = FrozenBroadcast & { host?: string };

interface LinkOptions {
  replyTimeoutMs?: number;
  /** How many there are, if the carrier leads to other hosts. */
  hosts?: number;
  /** And how long each may be away: it answers when it is back, or somebody answers for it when it is lost. */
  awayMs?: number;
}

type Reply = Extract<EngineMessage, { requestId: number }>;

/** An engine that does not answer for this long counts as dead: its worker thread may have crashed. */
const REPLY_TIMEOUT_MS = 20_000;
/** For each engine: starting the processes of its fleet takes a second or two, and Artillery prepares one after the other. */
const READY_TIMEOUT_MS = 60_000;
/** For the start to have reached all hosts, and Artillery there to let its workers run, one each 50 ms. */
const START_LEAD_US = { always: 500_000, eachEngine: 60_000 };

/** For an engine that has not reported. */
export const NO_STATUS: FleetStatus = {
  started: 0,
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
  /** Requests that an engine left without an answer. */
  unanswered = 0;
  /** If there are several: those of such engines. */
  readonly silentHosts = new Set<string>();
  /** Engines of hosts that are gone: their last status stands. */
  readonly gone = new Set<string>();
  readonly #carrier: Carrier<RunMessage, EngineMessage>;
  readonly #replyTimeoutMs: number;
  readonly #awayMs: number;
  readonly #hosts: number | undefined;
  readonly #ready = Promise.withResolvers<void>();
  #readyTimer: NodeJS.Timeout | undefined;
  /** Engines that there are to be, by host. */
  readonly #engines = new Map<string, number>();
  #started = false;
  readonly #statuses = new Map<string, FleetStatus>();
  readonly #waiting = new Map<number, { engines: Set<string>; replies: Reply[]; done: () => void }>();
  #nextRequest = 1;

  /** @param carrier closed by `close()` */
  constructor(
    carrier: Carrier<RunMessage, EngineMessage>,
    { replyTimeoutMs = REPLY_TIMEOUT_MS, hosts, awayMs = 0 }: LinkOptions = {},
  ) {
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#awayMs = awayMs;
    this.#hosts = hosts;
    // Nobody awaits it if the start fails earlier.
    this.#ready.promise.catch(() => {});
    this.#carrier = carrier;
    carrier.onMessage = (message) => this.#receive(message);
  }

  /** Sum over all engines. */
  get status(): FleetStatus {
    return addUp(this.#statuses.values(), NO_STATUS);
  }

  /** First copies of broadcasts so far, by engine; of those that still answer, as from others nothing more comes. */
  get reached(): ReadonlyMap<string, number> {
    const answering = [...this.#statuses].filter(([engine]) => !this.gone.has(engine));
    return new Map(answering.map(([engine, { reached }]) => [engine, reached]));
  }

  statusOf(host: string): FleetStatus {
    const own = [...this.#statuses].filter(([engine]) => hostOf(engine) === host);
    const statuses = own.map(([, status]) => status);
    return addUp(statuses, NO_STATUS);
  }

  /**
   * Waits for all engines, of each host if there are several.
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
   * Resolves when the short connections of all engines, which share in them, have come and gone.
   * @throws Error of the first that failed, or of an engine that does not answer
   */
  async warmUp({ connections, ...order }: WarmUpOrder): Promise<void> {
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

  /** Lets arrivals begin, also in engines that come later. */
  start(): void {
    this.#started = true;
    const { always, eachEngine } = START_LEAD_US;
    const leadUs = always + eachEngine * Math.max(0, ...this.#engines.values());
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

  async freeze(broadcasts: FreezeOrder[]): Promise<HostedRow[]> {
    const replies = await this.#ask((requestId) => ({ type: 'freeze', requestId, broadcasts }));
    return replies.flatMap((reply) => {
      if (reply.type !== 'frozen') return [];
      return this.#hosts === undefined ? reply.rows : reply.rows.map((row) => ({ ...row, host: reply.from.host }));
    });
  }

  /**
   * @param watch whether ids of the own event that appear from now on are counted
   * @param outside ids that are none of the run's: their rows are given up
   * @returns one for each fleet process
   */
  async sight(watch: boolean, outside: string[] = []): Promise<Sightings[]> {
    const replies = await this.#ask((requestId) => ({ type: 'sight', requestId, watch, outside }));
    return replies.flatMap((reply) => (reply.type === 'sighted' ? reply.sightings : []));
  }

  /** @returns the sum of what all fleets have counted until then */
  async messages(stage: MessageStage): Promise<MessageCounts> {
    const replies = await this.#ask((requestId) => ({ type: 'messages', requestId, stage }));
    const counts = replies.flatMap((reply) => (reply.type === 'messages' ? [reply.counts] : []));
    return addUp(counts, NO_MESSAGES);
  }

  /** @returns when all fleets have begun to count, or have ended it */
  async fault(order: FaultOrder): Promise<void> {
    await this.#ask((requestId) => ({ type: 'fault', requestId, order }));
  }

  /** Asks the engines to close everything they hold; a host that is away does so by itself. Idempotent. */
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

  get #areReady(): boolean {
    const present = [...this.#statuses.keys()].map(hostOf);
    const isWhole = ([host, engines]: [string, number]) => present.filter((one) => one === host).length >= engines;
    return this.#engines.size >= (this.#hosts ?? 1) && [...this.#engines].every(isWhole);
  }

  #receive(message: EngineMessage): void {
    const engine = keyOf(message.from);
    if (message.type === 'ready') {
      this.#statuses.set(engine, { ...NO_STATUS });
      this.#engines.set(message.from.host, message.engines);
      this.#readyTimer?.refresh();
      if (this.#areReady) this.#ready.resolve();
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
