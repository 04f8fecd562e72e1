/**
 * The engine's side of the fleet: starts the processes that hold the connections, spreads connections over them and
 * pairs commands with answers. Only sums come back; a received broadcast never leaves its process.
 */
import type { MessageCounts, MessageStage } from '../../protocol/link/client-messages.ts';
import type { FaultOrder } from '../../protocol/link/fault.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link/ledger.ts';
import type { Sightings } from '../../protocol/link/sightings.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { FleetStatus } from '../../protocol/link/status.ts';
import { sumMessages, sumStatuses } from '../../protocol/sum-counts.ts';
import { Accounts } from './accounts.ts';
import { FleetError } from './fleet-error.ts';
import { FleetProcess, type RequestLimits } from './fleet-process.ts';
import { type MergedSnapshot, mergeSnapshots } from './merge.ts';
import type { FleetAnswer, FleetSettings, ProcessSnapshot } from './messages.ts';
import { type FleetConnection, RemoteConnection } from './remote-connection.ts';
import { rowsOfSilentProcess } from './silent-process.ts';

/** Connections that go to the same process in a row: fewer than the open files that each process keeps in reserve. */
export const BATCH_SIZE = 16;
/** A process that answers later than this counts as stopped. Shorter than the run's timeout for its engines. */
const ANSWER_TIMEOUT_MS = 10_000;

export class Fleet {
  readonly #processes: FleetProcess[] = [];
  readonly #connections = new Map<number, RemoteConnection>();
  /** Of each process, so that the counts of one that dies are kept. */
  readonly #lastSnapshots = new Map<FleetProcess, ProcessSnapshot>();
  #accounts = new Accounts();
  #nextId = 0;
  /** The process that gets the current batch of connections, and how many of them it has. */
  #filling: FleetProcess | undefined;
  #inBatch = 0;
  readonly #answerLimits: RequestLimits;

  private constructor(answerTimeoutMs: number) {
    this.#answerLimits = { timeoutMs: answerTimeoutMs, timeoutCause: 'fleet_silent' };
  }

  /**
   * Starts `processes` child processes and waits until each is ready.
   * @param answerTimeoutMs after which a snapshot or ledger does without a process that does not answer
   * @throws FleetError `fleet_dead` if a process ends before it is ready
   */
  static async start(settings: FleetSettings, processes: number, answerTimeoutMs = ANSWER_TIMEOUT_MS): Promise<Fleet> {
    const fleet = new Fleet(answerTimeoutMs);
    for (let index = 0; index < processes; index++) {
      const child = new FleetProcess(settings, index, processes);
      child.onAnswer = (answer) => fleet.#receive(answer);
      child.onExit = () => fleet.#onProcessExit(child);
      fleet.#processes.push(child);
    }
    try {
      await Promise.all(fleet.#processes.map((child) => child.ready));
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  connection(): FleetConnection {
    const id = this.#nextId++;
    const child = this.#nextProcess();
    child.connections++;
    const connection = new RemoteConnection(id, child, this.#accounts, () => {
      child.connections--;
      this.#connections.delete(id);
    });
    this.#connections.set(id, connection);
    return connection;
  }

  /** Picks the process with the fewest connections, and sends it a whole batch, whose commands then share a message. */
  #nextProcess(): FleetProcess {
    const current = this.#filling;
    if (current?.alive && current.isGathering && this.#inBatch < BATCH_SIZE) {
      this.#inBatch++;
      return current;
    }
    let emptiest = this.#processes[0] as FleetProcess;
    for (const child of this.#processes) {
      if (child.alive && (!emptiest.alive || child.connections < emptiest.connections)) emptiest = child;
    }
    this.#filling = emptiest;
    this.#inBatch = 1;
    return emptiest;
  }

  status(): Omit<FleetStatus, 'started' | 'toOpen' | 'holding' | 'failed'> {
    const counts = { connecting: 0, connected: 0, upgrading: 0, away: 0, joining: 0, joined: 0 };
    return sumStatuses(
      { ...counts, received: 0, reached: 0, loopLateMs: 0 },
      this.#processes.map(({ status }) => status),
    );
  }

  /** Resets all counts and ledgers, and drops the remaining connections. */
  async reset(): Promise<void> {
    const alive = this.#processes.filter((child) => child.alive);
    await Promise.all(
      alive.map((child) =>
        child
          .request((requestId) => ({ op: 'reset', requestId, firstId: this.#nextId }), false, this.#answerLimits)
          .catch(() => undefined),
      ),
    );
    for (const child of alive) child.forgetMessages();
    this.#accounts = new Accounts();
  }

  /** As `RunMessage` has it. @returns the sum of what all processes have counted */
  async messages(stage: MessageStage): Promise<MessageCounts> {
    const answers = await Promise.all(
      this.#processes.map((child) =>
        child
          .request((requestId) => ({ op: 'messages', requestId, stage }), false, this.#answerLimits)
          .catch(() => undefined),
      ),
    );
    return sumMessages(answers.flatMap((answer) => (answer?.op === 'messages' ? [answer.counts] : [])));
  }

  /** As `RunMessage` has it. */
  async fault(order: FaultOrder): Promise<void> {
    await Promise.all(
      this.#processes.map((child) =>
        child
          .request((requestId) => ({ op: 'fault', requestId, order }), false, this.#answerLimits)
          .catch(() => undefined),
      ),
    );
  }

  async snapshot(): Promise<MergedSnapshot & Pick<FleetSnapshot, 'accounts' | 'disconnects'>> {
    const snapshots = await Promise.all(
      this.#processes.map(async (child) => {
        let answers = false;
        if (child.alive) {
          const requested = child.request((requestId) => ({ op: 'snapshot', requestId }), false, this.#answerLimits);
          const answer = await requested.catch(() => undefined);
          answers = answer?.op === 'snapshot';
          if (answer?.op === 'snapshot') this.#lastSnapshots.set(child, answer.snapshot);
        }
        return {
          index: child.index,
          pid: child.pid,
          alive: child.alive,
          answers,
          snapshot: this.#lastSnapshots.get(child),
        };
      }),
    );
    return { ...mergeSnapshots(snapshots), ...this.#accounts.read() };
  }

  async freeze(broadcasts: FreezeOrder[]): Promise<FrozenBroadcast[]> {
    const answers = await Promise.all(
      this.#processes.map(async (child) => {
        if (!child.alive) return rowsOfSilentProcess(child, broadcasts);
        const requested = child.request(
          (requestId) => ({ op: 'freeze', requestId, broadcasts }),
          false,
          this.#answerLimits,
        );
        const answer = await requested.catch(() => undefined);
        return answer?.op === 'frozen' ? answer.rows : rowsOfSilentProcess(child, broadcasts);
      }),
    );
    return answers.flat();
  }

  /**
   * @param watch whether ids of the own event that appear from now on are counted
   * @param outside ids that are none of the run's: their rows are given up
   */
  async sight(watch: boolean, outside: string[] = []): Promise<Sightings[]> {
    const answers = await Promise.all(
      this.#processes.map((child) =>
        child
          .request((requestId) => ({ op: 'sight', requestId, watch, outside }), false, this.#answerLimits)
          .catch(() => undefined),
      ),
    );
    return answers.flatMap((answer) => (answer?.op === 'sighted' ? [answer.sightings] : []));
  }

  /** Ends all processes, with what they hold. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((child) => child.close()));
  }

  #receive(answer: FleetAnswer): void {
    if (answer.op === 'event') {
      this.#connections.get(answer.id)?.deliver(answer.namespace, answer.event, answer.args);
    } else if (answer.op === 'kept') {
      this.#connections.get(answer.id)?.handOver(answer);
    } else if (answer.op === 'displaced') {
      this.#connections.get(answer.id)?.displaced(answer.count);
    } else if (answer.op === 'closed') {
      this.#connections.get(answer.id)?.dropped(answer.reason, answer.namespace, answer.returns);
    } else if (answer.op === 'returned') {
      this.#connections.get(answer.id)?.returned(answer.namespace, answer.retries);
    } else if (answer.op === 'lost') {
      this.#connections.get(answer.id)?.lost(answer.namespace, answer.reason, answer.retries);
    } else if (answer.op === 'refused') {
      this.#connections.get(answer.id)?.refused(new FleetError(answer.cause, answer.message));
    }
  }

  #onProcessExit(child: FleetProcess): void {
    for (const connection of this.#connections.values()) {
      if (connection.child === child) connection.dropped('fleet process died', undefined);
    }
  }
}
