/** Counts the load's connections, and checks whether all arrivals have connected or closed. */

import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { ControlClients } from '../samplers/control/control-workers.ts';
import type { EngineLink } from './link.ts';
import { until } from './wait.ts';

const SERVER_POLL_MS = 500;
/** Time without a change that counts as quiet. Longer than the fleet's and the engine's status intervals together. */
const QUIET_MS = 1000;

export interface Arrivals {
  /** Planned arrivals of all phases so far. */
  count: number;
  /** Artillery skips arrivals beyond a phase's `maxVusers`, and reports their number only every ten seconds. */
  mayBeSkipped: boolean;
}

interface Made {
  opened: number;
  failedAttempts: number;
}

export interface Population {
  /** Open connections, without the probe. */
  connections(): number;
  /** Connections opened so far, including reconnects, and failed attempts. */
  made(): Made;
  /**
   * Waits until all virtual users have connected and joined, or have failed. If some may be skipped, it waits for a second without
   * changes instead.
   * @returns false after `timeoutMs`
   */
  settled(arrivals: Arrivals, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** Waits until no connection is left. */
  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

/** Population as counted by the fleets. */
export class FleetPopulation implements Population {
  readonly #link: Pick<EngineLink, 'status'>;
  readonly #awaitsJoins: boolean;

  /** @param awaitsJoins whether the server acknowledges `join_room`; without control ports, it need not */
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
      // A holding user has finished its steps. `connected` is checked as fleet processes report a little later than engines.
      const allHold = holding + failed + others >= count && connected >= holding;
      // A flow without `hold` never reports that it has finished, so a second without changes counts.
      return quiet && (allHold || performance.now() - busyAtMs >= QUIET_MS);
    };
    return until(isSettled, timeoutMs, signal);
  }

  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return until(() => this.#link.status.connected === 0, timeoutMs, signal);
  }

  close(): void {} // the run closes the link
}

/** Population as counted by the server's workers, for engines that report no counts. */
export class ServerPopulation implements Population {
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

  /** Lower bound: misses connections that open and close between two polls. */
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
    return until(isSettled, timeoutMs, signal);
  }

  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return until(() => this.#connections === 0, timeoutMs, signal);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #poll(): Promise<void> {
    const stats = await this.#control.stats().catch(() => undefined);
    if (!stats) return;
    const connections = Math.max(0, connectionsOf(stats) - 1); // Subtracts the probe's connection.
    this.#opened += Math.max(0, connections - this.#connections);
    this.#connections = connections;
  }
}

export function connectionsOf(workers: WorkerStats[]): number {
  return workers.reduce((total, { connections }) => total + connections, 0);
}
