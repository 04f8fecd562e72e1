/** How many connections there are, and whether something is still on its way. */

import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { ControlClients } from '../samplers/control/control-workers.ts';
import type { EngineLink } from './link.ts';
import { until } from './wait.ts';

const SERVER_POLL_MS = 500;
/** Longer than the fleet's and the engine's status intervals together. */
const QUIET_MS = 1000;

export interface Arrivals {
  /** In all phases so far. */
  count: number;
  /** Artillery skips arrivals beyond a phase's `maxVusers`, and tells how many only every ten seconds. */
  mayBeSkipped: boolean;
}

export interface Made {
  opened: number;
  failedAttempts: number;
}

export interface Population {
  /** Connected now, without the probe. */
  connections(): number;
  /** Connections opened so far, with those that came back, and failed attempts. */
  made(): Made;
  /**
   * Waits until all virtual users are connected and joined, or have failed. Where some may be skipped, a quiet second must do.
   * @returns false if that has not happened after `timeoutMs`
   */
  settled(arrivals: Arrivals, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** Waits until no connection is left. */
  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

/** As the fleets count it. */
export class FleetPopulation implements Population {
  readonly #link: Pick<EngineLink, 'status'>;
  readonly #awaitsJoins: boolean;

  /** @param awaitsJoins the server acknowledges `join_room`, which a server without a control port need not know */
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
      const { started, connecting, connected, joining, upgrading, away, holding, failed } = this.#link.status;
      const haveArrived = started >= count || (mayBeSkipped && started === startedBefore);
      startedBefore = started;
      const joined = joining === 0 || !this.#awaitsJoins;
      const quiet = haveArrived && connecting + upgrading + away === 0 && joined;
      if (!quiet) busyAtMs = performance.now();
      // A virtual user that holds has done all its steps; the fleet's processes report a little later than its engine.
      const allHold = holding + failed >= count && connected >= holding;
      // A flow without `hold` never reports that it is done; a quiet second must do.
      return quiet && (allHold || performance.now() - busyAtMs >= QUIET_MS);
    };
    return until(isSettled, timeoutMs, signal);
  }

  gone(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return until(() => this.#link.status.connected === 0, timeoutMs, signal);
  }

  close(): void {} // the run closes the link
}

/** As the server's workers count it: for engines that report nothing. */
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

  /** At least: one that opens and ends between two polls is not seen. */
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
    const connections = Math.max(0, connectionsOf(stats) - 1); // the probe's
    this.#opened += Math.max(0, connections - this.#connections);
    this.#connections = connections;
  }
}

export function connectionsOf(workers: WorkerStats[]): number {
  return workers.reduce((total, { connections }) => total + connections, 0);
}
