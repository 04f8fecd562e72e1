/**
 * The engine's side of the fleet: starts the fleet processes, which hold the connections, and spreads the connections
 * over them. Processes report totals only; received broadcasts stay in their process.
 */

import { knownSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import { sumDeep } from '../../protocol/link/add-up.ts';
import { type MessageCounts, type MessageStage, NO_MESSAGE_COUNTS } from '../../protocol/link/client-messages.ts';
import type { FaultCommand } from '../../protocol/link/fault-messages.ts';
import {
  emptyLedgerRow,
  type FreezeRequest,
  type FrozenBroadcast,
  type OwnEventSightings,
} from '../../protocol/link/ledger-messages.ts';
import type { FleetSnapshot, FleetStatus } from '../../protocol/link/snapshot.ts';
import type { EventCounts } from '../../protocol/link/time-series.ts';
import { openInProcessChannel } from './channel.ts';
import { type AccountCounts, ConnectionAccounts } from './connection-accounts.ts';
import type { FleetSettings, ProcessQuestions, ProcessSnapshot } from './fleet-messages.ts';
import { FleetProcess } from './fleet-process.ts';
import { type MergedSnapshot, mergeSnapshots } from './merge.ts';
import { RemoteConnection } from './remote-connection.ts';

/**
 * Number of consecutive connections that go to the same process. It must be smaller than the number of file descriptors
 * that each process has in reserve.
 */
const BATCH_SIZE = 16;
/**
 * Milliseconds after which a fleet process without an answer counts as stopped. The run waits longer for its engines.
 */
const ANSWER_TIMEOUT_MS = 10_000;

export class Fleet {
  readonly #processes: FleetProcess[];
  readonly #connections = new Map<number, RemoteConnection>();
  /** Last snapshot of each process. Keeps the counts of a process that has died. */
  readonly #lastSnapshots = new Map<FleetProcess, ProcessSnapshot>();
  #accounts = new ConnectionAccounts();
  #nextId = 0;
  /** Process to which the current batch of connections is assigned, and the number of connections in the batch. */
  #filling: FleetProcess | undefined;
  #inBatch = 0;

  private constructor(processes: FleetProcess[]) {
    this.#processes = processes;
    for (const child of processes) {
      child.onAnswer = (answer) => {
        if ('id' in answer) this.#connections.get(answer.id)?.receive(answer);
      };
      child.onExit = () => {
        for (const connection of this.#connections.values()) {
          if (connection.child === child) connection.dropped('fleet process died', undefined);
        }
      };
    }
  }

  /**
   * Starts `processes` child processes and waits until all of them are ready.
   * @param answerTimeoutMs time after which a process without an answer is left out of a snapshot or ledger
   * @throws FleetError `fleet_dead` if a process ends before it is ready; CapacityError LIMIT_TOO_LOW if a limit of the
   * machine prevents starting it
   */
  static async start(settings: FleetSettings, processes: number, answerTimeoutMs = ANSWER_TIMEOUT_MS): Promise<Fleet> {
    const indices = Array.from({ length: processes }, (_, index) => index);
    const secrets = knownSecrets();
    const children = indices.map((index) => new FleetProcess({ settings, secrets, index, processes }, answerTimeoutMs));
    const fleet = new Fleet(children);
    try {
      await Promise.all(children.map((child) => child.ready));
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /**
   * Returns a fleet that holds its connections in this process. It is used for the run's own clients, whose measured
   * times must not include messages between processes.
   */
  static async here(settings: FleetSettings): Promise<Fleet> {
    const start = { settings, secrets: knownSecrets(), index: 0, processes: 1 };
    const process = new FleetProcess(start, ANSWER_TIMEOUT_MS, openInProcessChannel);
    await process.ready;
    return new Fleet([process]);
  }

  connection(): RemoteConnection {
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

  /**
   * Returns the process for the next connection. A batch of consecutive connections goes to the process with the fewest
   * connections, so that the commands of the batch share a message.
   */
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

  status(): Omit<FleetStatus, 'started' | 'others' | 'holding' | 'failed' | 'failures'> {
    const now = { connecting: 0, connected: 0, upgrading: 0, away: 0, joining: 0, joined: 0 };
    const soFar = { opened: 0, failedAttempts: 0, received: 0, reached: 0 };
    const statuses = this.#processes.map(({ status }) => status);
    const sum = sumDeep(statuses, { ...now, ...soFar, loopLateMs: 0 });
    return { ...sum, ended: this.#accounts.read().accounts.ended };
  }

  /** Resets the counts and ledgers of all processes, and drops the remaining connections. */
  async reset(): Promise<void> {
    await this.#ask('reset', this.#nextId);
    this.#accounts = new ConnectionAccounts();
  }

  /**
   * Starts a stage of the repeated messages in all processes.
   * @returns the message counts up to this time, added up over all processes
   */
  async messages(stage: MessageStage): Promise<MessageCounts> {
    return sumDeep(await this.#ask('messages', stage), NO_MESSAGE_COUNTS);
  }

  /** Implements `RunMessage`. */
  async events(): Promise<EventCounts[]> {
    return (await this.#ask('events')).flat();
  }

  /** Implements `RunMessage`. */
  async fault(order: FaultCommand): Promise<void> {
    await this.#ask('fault', order);
  }

  /** Implements `RunMessage`. */
  sight(watch: boolean, outside: string[] = []): Promise<OwnEventSightings[]> {
    return this.#ask('sight', { watch, outside });
  }

  async snapshot(): Promise<MergedSnapshot & AccountCounts & Pick<FleetSnapshot, 'still'>> {
    const { changes } = this.#accounts;
    const entries = await Promise.all(
      this.#processes.map(async (child) => {
        const answer = await child.ask('snapshot');
        if (answer) this.#lastSnapshots.set(child, answer);
        const { index, pid, alive } = child;
        return { index, pid, alive, answers: answer !== undefined, snapshot: this.#lastSnapshots.get(child) };
      }),
    );
    const still = this.#accounts.changes === changes;
    return { ...mergeSnapshots(entries), ...this.#accounts.read(), still };
  }

  async freeze(broadcasts: FreezeRequest[]): Promise<FrozenBroadcast[]> {
    const rows = this.#processes.map(
      async (child) => (await child.ask('freeze', broadcasts)) ?? rowsOfSilentProcess(child, broadcasts),
    );
    return (await Promise.all(rows)).flat();
  }

  /** Ends all processes with their connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((child) => child.close()));
  }

  /** Sends a request to all processes, and returns the answers that arrive in time. */
  async #ask<Q extends keyof ProcessQuestions>(
    question: Q,
    ...given: Parameters<ProcessQuestions[Q]>
  ): Promise<ReturnType<ProcessQuestions[Q]>[]> {
    type Answer = ReturnType<ProcessQuestions[Q]>;
    const answers = await Promise.all(this.#processes.map((child) => child.ask(question, ...given)));
    return answers.filter((answer): answer is Awaited<Answer> => answer !== undefined);
  }
}

/**
 * Returns ledger rows for a process that has died or does not answer. The members of rooms in this process count as
 * expected receivers that lost the broadcast, so the delivery coverage shows that the load generator crashed.
 */
function rowsOfSilentProcess({ index, death, status }: FleetProcess, broadcasts: FreezeRequest[]): FrozenBroadcast[] {
  const { atUs, joined } = death ?? { atUs: Number.POSITIVE_INFINITY, joined: status.joined };
  if (joined === 0) return [];
  return broadcasts
    .filter(({ sentAtUs }) => sentAtUs < atUs)
    .map(({ seq }) => ({ ...emptyLedgerRow(seq), process: index, expected: joined, lostDisconnected: joined }));
}
