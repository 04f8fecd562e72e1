/** The run's end of the link: asks all engines, waits for all of them, and keeps their latest status. */
import type { Carrier } from '../../protocol/carrier.ts';
import { CapacityError } from '../../protocol/errors.ts';
import type {
  EngineIdentity,
  EngineMessage,
  FleetSnapshot,
  FleetStatus,
  FreezeOrder,
  FrozenBroadcast,
  MessageCounts,
  MessageStage,
  RunMessage,
  Sightings,
  WarmUpOrder,
} from '../../protocol/link.ts';
import { sumMessages } from '../../protocol/sum-counts.ts';

/** What an engine and its fleet have counted, and which engine that is. */
export type EngineSnapshot = FleetSnapshot & { from: EngineIdentity };

type Reply = Extract<EngineMessage, { requestId: number }>;

/** An engine that does not answer for this long counts as dead: its worker thread may have crashed. */
const REPLY_TIMEOUT_MS = 20_000;
/** Starting the fleet's processes takes a second or two. */
const READY_TIMEOUT_MS = 60_000;

/** Of an engine that has not reported. */
export const NO_STATUS: FleetStatus = {
  started: 0,
  connecting: 0,
  connected: 0,
  joined: 0,
  toOpen: 0,
  holding: 0,
  failed: 0,
  received: 0,
  reached: 0,
  joining: 0,
  upgrading: 0,
  away: 0,
};

export class EngineLink {
  onFailed: (failure: Extract<EngineMessage, { type: 'failed' }>) => void = () => {};
  /** Requests that an engine left without an answer. */
  unanswered = 0;
  readonly #carrier: Carrier<RunMessage, EngineMessage>;
  readonly #replyTimeoutMs: number;
  readonly #ready = Promise.withResolvers<void>();
  /** Arrivals may begin. */
  #started = false;
  readonly #statuses = new Map<string, FleetStatus>();
  readonly #waiting = new Map<number, { engines: Set<string>; replies: Reply[]; done: () => void }>();
  #nextRequest = 1;

  /**
   * @param carrier closed by `close()`
   * @param replyTimeoutMs how long to wait for an engine's answer
   */
  constructor(carrier: Carrier<RunMessage, EngineMessage>, replyTimeoutMs = REPLY_TIMEOUT_MS) {
    this.#replyTimeoutMs = replyTimeoutMs;
    // Nobody awaits it if the start fails earlier.
    this.#ready.promise.catch(() => {});
    this.#carrier = carrier;
    carrier.onMessage = (message) => this.#receive(message);
  }

  /** Sum over all engines. */
  get status(): FleetStatus {
    const sum = { ...NO_STATUS };
    for (const status of this.#statuses.values()) {
      for (const key of Object.keys(sum) as (keyof FleetStatus)[]) sum[key] += status[key];
    }
    return sum;
  }

  /**
   * Waits for the first engine.
   * @throws CapacityError ENGINE_MISSING, or the signal's reason
   */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)]);
    deadline.addEventListener('abort', () => this.#ready.reject(signal.aborted ? signal.reason : engineMissing()), {
      once: true,
    });
    await this.#ready.promise;
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
    this.#carrier.send({ type: 'start' });
  }

  tell(message: Extract<RunMessage, { type: 'release' | 'finish' }>): void {
    this.#carrier.send(message);
  }

  async snapshots(): Promise<EngineSnapshot[]> {
    const replies = await this.#ask((requestId) => ({ type: 'snapshot', requestId }));
    return replies.flatMap((reply) => (reply.type === 'snapshot' ? [{ ...reply.snapshot, from: reply.from }] : []));
  }

  async freeze(broadcasts: FreezeOrder[]): Promise<FrozenBroadcast[]> {
    const replies = await this.#ask((requestId) => ({ type: 'freeze', requestId, broadcasts }));
    return replies.flatMap((reply) => (reply.type === 'frozen' ? reply.rows : []));
  }

  /** @param watch whether ids of the own event that appear from now on are counted @returns one for each fleet process */
  async sight(watch: boolean): Promise<Sightings[]> {
    const replies = await this.#ask((requestId) => ({ type: 'sight', requestId, watch }));
    return replies.flatMap((reply) => (reply.type === 'sighted' ? reply.sightings : []));
  }

  /** @returns the sum of what all fleets have counted until then */
  async messages(stage: MessageStage): Promise<MessageCounts> {
    const replies = await this.#ask((requestId) => ({ type: 'messages', requestId, stage }));
    return sumMessages(replies.flatMap((reply) => (reply.type === 'messages' ? [reply.counts] : [])));
  }

  /** Asks the engines to close everything they hold. Idempotent. */
  async close(): Promise<void> {
    await this.#ask((requestId) => ({ type: 'close', requestId }));
    this.#carrier.close();
    this.#statuses.clear();
  }

  #ask(message: (requestId: number) => RunMessage): Promise<Reply[]> {
    const engines = new Set(this.#statuses.keys());
    const requestId = this.#nextRequest++;
    if (engines.size === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.unanswered += waiting.engines.size;
        waiting.done();
      }, this.#replyTimeoutMs);
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

  #receive(message: EngineMessage): void {
    const engine = keyOf(message.from);
    if (message.type === 'ready') {
      this.#statuses.set(engine, { ...NO_STATUS });
      this.#ready.resolve();
      if (this.#started) this.start();
    } else if (message.type === 'status') this.#statuses.set(engine, message.status);
    else if (message.type === 'failed') this.onFailed(message);
    else {
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

function engineMissing(): CapacityError {
  return new CapacityError(
    'ENGINE_MISSING',
    `no engine became ready within ${READY_TIMEOUT_MS / 1000} s`,
    'install artillery-engine-socketio-capacity beside artillery; see also the lines above',
  );
}
