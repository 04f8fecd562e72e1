/** Counts the connections of the load, and checks whether all virtual users have connected or left. */

import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { ControlClients } from '../samplers/control/control-workers.ts';
import type { EngineLink } from './link.ts';
import { pollUntil } from './wait.ts';

const SERVER_POLL_MS = 500;
/**
 * Time without a change, in milliseconds, after which all virtual users count as settled. It is longer than the status
 * intervals of fleet and engine together.
 */
const QUIET_MS = 1000;

export interface Arrivals {
  /** Number of planned arrivals of all phases so far. */
  count: number;
  /**
   * Whether Artillery may skip arrivals because of a phase's `maxVusers`. Artillery reports the number of skipped
   * arrivals only every ten seconds.
   */
  mayBeSkipped: boolean;
}

interface Made {
  opened: number;
  failedAttempts: number;
}

export interface ConnectionPopulation {
  /** Number of open connections, excluding the probe. */
  connections(): number;
  /** Number of connections opened so far, including reconnects, and number of failed attempts. */
  made(): Made;
  /**
   * Waits until all virtual users have connected and joined, or have failed. If Artillery may skip some users, waits
   * for a second without changes instead.
   * @returns false if the time limit passed
   */
  settled(arrivals: Arrivals, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /**
   * Waits until all connections have closed.
   * @returns false if the time limit passed
   */
  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

/** Counts the connections from the status reports of the fleet processes. */
export class FleetPopulation implements ConnectionPopulation {
  readonly #link: Pick<EngineLink, 'status'>;
  readonly #awaitsJoins: boolean;

  /** @param awaitsJoins whether the server acknowledges `join_room`; a server without control ports may not */
  constructor(link: Pick<EngineLink, 'status'>, awaitsJoins = true) {
    this.#link = link;
    this.#awaitsJoins = awaitsJoins;
  }

  connections(): number {
    return this.#link.status.connected;
  }

  made(): Made {
    return this.#link.status;
  }

  settled({ count, mayBeSkipped }: Arrivals, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    let busyAtMs = performance.now();
    let startedBefore = 0;
    const isSettled = () => {
      const { started, others, connecting, connected, joining, upgrading, away, holding, failed } = this.#link.status;
      const all = started + others;
      const haveArrived = all >= count || (mayBeSkipped && all === startedBefore);
      startedBefore = all;
      const joined = joining === 0 || !this.#awaitsJoins;
      const quiet = haveArrived && connecting + upgrading + away === 0 && joined;
      if (!quiet) busyAtMs = performance.now();
      // A virtual user at the step `hold` has run all its other steps.
      const allHold = holding + failed + others >= count && connected >= holding;
      // Virtual users without the step `hold` never report that they have finished, so a time limit applies.
      return quiet && (allHold || performance.now() - busyAtMs >= QUIET_MS);
    };
    return pollUntil(isSettled, timeoutMs, signal);
  }

  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return pollUntil(() => this.#link.status.connected === 0, timeoutMs, signal);
  }

  close(): void {} // Nothing to close here: the run closes the link.
}

/** Counts the connections from the statistics of the server's workers, for engines that report no counts. */
export class ServerPopulation implements ConnectionPopulation {
  readonly #control: Pick<ControlClients, 'stats'>;
  #connections = 0;
  #opened = 0;
  #timer: NodeJS.Timeout;

  constructor(control: Pick<ControlClients, 'stats'>) {
    this.#control = control;
    this.#timer = setInterval(() => void this.#poll(), SERVER_POLL_MS);
    this.#timer.unref();
  }

  connections(): number {
    return this.#connections;
  }

  /**
   * Returns a lower bound of the opened connections: a connection that opens and closes between two polls is not
   * counted.
   */
  made(): Made {
    return { opened: this.#opened, failedAttempts: 0 };
  }

  settled({ count, mayBeSkipped }: Arrivals, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    let before = 0;
    let changedAtMs = performance.now();
    const isSettled = () => {
      if (this.#connections !== before) changedAtMs = performance.now();
      before = this.#connections;
      return before >= count || (mayBeSkipped && performance.now() - changedAtMs >= QUIET_MS + SERVER_POLL_MS);
    };
    return pollUntil(isSettled, timeoutMs, signal);
  }

  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return pollUntil(() => this.#connections === 0, timeoutMs, signal);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #poll(): Promise<void> {
    const stats = await this.#control.stats().catch(() => undefined);
    if (!stats) return;
    const connections = Math.max(0, connectionsOfWorkers(stats) - 1); // The workers' count includes the probe's connection.
    this.#opened += Math.max(0, connections - this.#connections);
    this.#connections = connections;
  }
}

export function connectionsOfWorkers(workers: WorkerStats[]): number {
  return workers.reduce((total, { connections }) => total + connections, 0);
}
