/**
 * The engine's side of the fleet: starts the processes that hold the connections, spreads connections over them and
 * pairs commands with answers. Only sums come back; a received broadcast never leaves its process.
 */
import { createHistogram, encodeHistogram } from '../../protocol/histogram.ts';
import type { FleetSnapshot, FleetStatus, FreezeOrder, FrozenBroadcast } from '../../protocol/link.ts';
import { type Account, Accounts } from './accounts.ts';
import { FleetError } from './fleet-error.ts';
import { FleetProcess, type RequestLimits } from './fleet-process.ts';
import { type MergedSnapshot, mergeSnapshots } from './merge.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, OpenOptions, ProcessSnapshot } from './messages.ts';

export { FleetError };

/** In the microseconds of `monotonicUs`. */
export interface Opened {
  begunAtUs: number;
  openedAtUs: number;
}

/** One virtual user's connection. All promises reject with a `FleetError`; nothing throws synchronously. */
export interface FleetConnection {
  /**
   * Opens the transport if needed, then the namespace. It may begin a few milliseconds later, together with others, and
   * the news of its end may come as much later: both times are those of the connection itself.
   * @param afterMs for a connection that is one of many: how much later its turn comes, if it is not open yet
   */
  open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened>;
  /** Fire and forget. */
  emit(namespace: string, event: string, args: unknown[]): void;
  /** Resolves with the acknowledgement's arguments; rejects with cause `ack_timeout` or the reason of the disconnect. */
  emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]>;
  /** Every event of this name, until the returned function is called. */
  on(namespace: string, event: string, listener: (args: unknown[]) => void): () => void;
  /** Told once for each time the connection, or one namespace of it, ends other than by `close()`. */
  onDrop(listener: (reason: string, namespace: string | undefined) => void): void;
  /** Polite, paced by `disconnectRatePerSec`. Resolves when it is closed. Idempotent. */
  close(): Promise<void>;
}

/** Connections in a row for the same process: fewer than the open files that each keeps in reserve. */
export const BATCH_SIZE = 16;
/** A process that answers later than this is taken for stopped: less than the run waits for its engine. */
const ANSWER_TIMEOUT_MS = 10_000;
const NO_LATENCIES = encodeHistogram(createHistogram());

export class Fleet {
  readonly #processes: FleetProcess[] = [];
  readonly #connections = new Map<number, Connection>();
  /** The last word of processes that have died: what they had counted is not forgotten. */
  readonly #lastSnapshots = new Map<FleetProcess, ProcessSnapshot>();
  #accounts = new Accounts();
  #nextId = 0;
  /** The process that the last connection went to, and how many in a row have. */
  #filling: FleetProcess | undefined;
  #inBatch = 0;
  readonly #answerLimits: RequestLimits;

  private constructor(answerTimeoutMs: number) {
    this.#answerLimits = { timeoutMs: answerTimeoutMs, timeoutCause: 'fleet_silent' };
  }

  /**
   * Starts `processes` child processes and waits until each is ready.
   * @param answerTimeoutMs after which a process that does not answer for what it holds is left out
   * @throws FleetError `fleet_dead` when one of them ends before
   */
  static async start(settings: FleetSettings, processes: number, answerTimeoutMs = ANSWER_TIMEOUT_MS): Promise<Fleet> {
    const fleet = new Fleet(answerTimeoutMs);
    for (let index = 0; index < processes; index++) {
      const link = new FleetProcess(settings, index, processes);
      link.onAnswer = (answer) => fleet.#receive(answer);
      link.onExit = () => fleet.#onProcessExit(link);
      fleet.#processes.push(link);
    }
    try {
      await Promise.all(fleet.#processes.map((link) => link.ready));
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  connection(): FleetConnection {
    const id = this.#nextId++;
    const link = this.#nextLink();
    link.connections++;
    const connection = new Connection(id, link, this.#accounts, () => {
      link.connections--;
      this.#connections.delete(id);
    });
    this.#connections.set(id, connection);
    return connection;
  }

  /** Connections that come together go to the same process, so that their orders share a message; then to the emptiest. */
  #nextLink(): FleetProcess {
    const current = this.#filling;
    if (current?.alive && current.isGathering && this.#inBatch < BATCH_SIZE) {
      this.#inBatch++;
      return current;
    }
    let emptiest = this.#processes[0] as FleetProcess;
    for (const link of this.#processes) {
      if (link.alive && (!emptiest.alive || link.connections < emptiest.connections)) emptiest = link;
    }
    this.#filling = emptiest;
    this.#inBatch = 1;
    return emptiest;
  }

  status(): Pick<FleetStatus, 'connecting' | 'connected' | 'joining' | 'joined' | 'received'> {
    const sum = { connecting: 0, connected: 0, joining: 0, joined: 0, received: 0 };
    for (const { status } of this.#processes) {
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += status[key];
    }
    return sum;
  }

  /** Begins all books anew, as if there had been no connection yet; one that is still there is dropped. */
  async reset(): Promise<void> {
    const alive = this.#processes.filter((link) => link.alive);
    await Promise.all(
      alive.map((link) =>
        link.request((requestId) => ({ op: 'reset', requestId }), false, this.#answerLimits).catch(() => undefined),
      ),
    );
    this.#accounts = new Accounts();
  }

  async snapshot(): Promise<MergedSnapshot & Pick<FleetSnapshot, 'accounts'>> {
    const snapshots = await Promise.all(
      this.#processes.map(async (link) => {
        let answers = false;
        if (link.alive) {
          const requested = link.request((requestId) => ({ op: 'snapshot', requestId }), false, this.#answerLimits);
          const answer = await requested.catch(() => undefined);
          answers = answer?.op === 'snapshot';
          if (answer?.op === 'snapshot') this.#lastSnapshots.set(link, answer.snapshot);
        }
        return {
          index: link.index,
          pid: link.pid,
          alive: link.alive,
          answers,
          snapshot: this.#lastSnapshots.get(link),
        };
      }),
    );
    return { ...mergeSnapshots(snapshots), accounts: this.#accounts.read() };
  }

  async freeze(broadcasts: FreezeOrder[]): Promise<FrozenBroadcast[]> {
    const answers = await Promise.all(
      this.#processes.map(async (link) => {
        if (!link.alive) return rowsOfDeadProcess(link, broadcasts);
        const requested = link.request(
          (requestId) => ({ op: 'freeze', requestId, broadcasts }),
          false,
          this.#answerLimits,
        );
        const answer = await requested.catch(() => undefined);
        return answer?.op === 'frozen' ? answer.rows : rowsOfDeadProcess(link, broadcasts);
      }),
    );
    return answers.flat();
  }

  /** Ends all processes, with what they hold. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((link) => link.close()));
  }

  #receive(answer: FleetAnswer): void {
    if (answer.op === 'event') {
      this.#connections.get(answer.id)?.deliver(answer.namespace, answer.event, answer.args);
    } else if (answer.op === 'closed') {
      this.#connections.get(answer.id)?.dropped(answer.reason, answer.namespace);
    }
  }

  #onProcessExit(link: FleetProcess): void {
    for (const connection of this.#connections.values()) {
      if (connection.link === link) connection.dropped('fleet process died', undefined);
    }
  }
}

/**
 * What a process had received is gone with it, or cannot be asked for while it stands still: its members count as lost,
 * not as never expected.
 */
function rowsOfDeadProcess({ index, death, status }: FleetProcess, broadcasts: FreezeOrder[]): FrozenBroadcast[] {
  const { atUs, joined } = death ?? { atUs: Number.POSITIVE_INFINITY, joined: status.joined };
  if (joined === 0) return [];
  return broadcasts
    .filter(({ sentAtUs }) => sentAtUs < atUs)
    .map(({ seq }) => ({
      process: index,
      seq,
      expected: joined,
      received: 0,
      lostConnected: 0,
      lostDisconnected: joined,
      duplicates: 0,
      reordered: 0,
      unexpected: 0,
      notMember: 0,
      wrongSize: 0,
      wrongContent: 0,
      early: 0,
      earlyByUs: 0,
      latencyUs: { local: NO_LATENCIES, cross: NO_LATENCIES },
      firstUs: 0,
      lastUs: 0,
    }));
}

type Listener = (args: unknown[]) => void;

class Connection implements FleetConnection {
  readonly id: number;
  readonly link: FleetProcess;
  readonly #accounts: Accounts;
  readonly #account: Account = { state: 'idle', cause: '' };
  readonly #forget: () => void;
  #listeners: Map<string, Set<Listener>> | undefined;
  /** Until then, what it is told to do can wait as long as its opening. */
  #isOpen = false;
  #dropListener: ((reason: string, namespace: string | undefined) => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(id: number, link: FleetProcess, accounts: Accounts, forget: () => void) {
    this.id = id;
    this.link = link;
    this.#accounts = accounts;
    this.#forget = forget;
  }

  async open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened> {
    this.#accounts.begin(this.#account);
    try {
      return await this.#open(namespace, options, afterMs);
    } catch (error) {
      this.#accounts.failed(this.#account, (error as FleetError).code);
      throw error;
    }
  }

  async #open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened> {
    const interest = this.#interest();
    const command = (requestId: number) => {
      const order: Extract<FleetCommand, { op: 'open' }> = { op: 'open', id: this.id, requestId, namespace };
      // A key without a value would travel, too.
      if (options) order.options = options;
      if (interest) order.interest = interest;
      if (afterMs) order.afterMs = afterMs;
      return order;
    };
    // Its end may stand in the same message: what is counted must not wait for whoever asked.
    const answer = await this.link.request(command, true, undefined, ({ op }) => {
      if (op === 'opened') this.#accounts.opened(this.#account);
    });
    if (answer.op !== 'opened') throw unexpected(answer);
    this.#isOpen = true;
    return answer;
  }

  emit(namespace: string, event: string, args: unknown[]): void {
    this.link.send({ op: 'emit', id: this.id, namespace, event, args }, !this.#isOpen);
  }

  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const { id } = this;
    const limits: RequestLimits = { connectionId: id, timeoutMs, timeoutCause: 'ack_timeout' };
    const order = { op: 'emit' as const, id, namespace, event, args };
    const answer = await this.link.request((requestId) => ({ ...order, requestId }), !this.#isOpen, limits);
    if (answer.op === 'acked') return answer.args;
    throw unexpected(answer);
  }

  on(namespace: string, event: string, listener: Listener): () => void {
    const key = `${namespace} ${event}`;
    this.#listeners ??= new Map();
    let listeners = this.#listeners.get(key);
    if (!listeners) {
      listeners = new Set();
      this.#listeners.set(key, listeners);
      this.link.send({ op: 'interest', id: this.id, event, wanted: true }, !this.#isOpen);
    }
    listeners.add(listener);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners?.delete(key);
      this.link.send({ op: 'interest', id: this.id, event, wanted: this.#wants(event) });
    };
  }

  onDrop(listener: (reason: string, namespace: string | undefined) => void): void {
    this.#dropListener = listener;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#dropListener = undefined;
    this.link.rejectOf(this.id, new FleetError('closed', 'closed by the virtual user'));
    const { id } = this;
    try {
      await this.link.request(
        (requestId) => ({ op: 'close', id, requestId }),
        true,
        undefined,
        () => this.#accounts.ended(this.#account, 'io client disconnect'),
      );
    } catch {
      // the process has died, and the connection with it
    }
    this.#forget();
  }

  deliver(namespace: string, event: string, args: unknown[]): void {
    for (const listener of this.#listeners?.get(`${namespace} ${event}`) ?? []) listener(args);
  }

  dropped(reason: string, namespace: string | undefined): void {
    if (namespace === undefined) {
      this.#accounts.ended(this.#account, reason);
      this.link.rejectOf(this.id, new FleetError('closed', reason));
    }
    this.#dropListener?.(reason, namespace);
  }

  #wants(event: string): boolean {
    for (const key of this.#listeners?.keys() ?? []) if (key.endsWith(` ${event}`)) return true;
    return false;
  }

  /** Names of all events listened for: a reconnect has a new client, which knows nothing of the old one's. */
  #interest(): string[] | undefined {
    return this.#listeners && [...this.#listeners.keys()].map((key) => key.slice(key.indexOf(' ') + 1));
  }
}

function unexpected(answer: FleetAnswer): FleetError {
  if (answer.op === 'failed') return new FleetError(answer.cause, answer.message, answer.data);
  return new FleetError('fleet_protocol', `unexpected answer ${answer.op}`);
}
