/**
 * Compares the workers' monotonic clocks with the run's clock. Clocks of other hosts start at another zero and drift.
 * Therefore, they are read during the whole run, and most precisely just before and after measurements.
 */

import { followClock } from '../../../protocol/base/clock/clock.ts';
import { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import { absenceReasonOf } from '../../samplers/index.ts';
import type { WorkerControl } from './control-client.ts';

/** Number of clock readings in quick succession. The reading with the shortest round trip is used. */
const READINGS = 16;
/**
 * Interval of the clock readings during a run, in milliseconds. A shorter interval would put load on the measured
 * workers.
 */
const INTERVAL_MS = 1000;

export class WorkerClocks {
  /** Offset of each worker's clock over time, in the order of the control URLs. */
  readonly lines: ClockLine[];
  readonly #control: Pick<WorkerControl, 'clock'>;
  readonly #unfollow: (() => void)[] = [];

  /** @param here for each worker, whether it runs on this host */
  constructor(control: Pick<WorkerControl, 'clock'>, here: boolean[]) {
    this.#control = control;
    this.lines = here.map((sharesKernel) => new ClockLine(sharesKernel));
  }

  /**
   * Reads the clocks of all workers that answer.
   * @throws Error if a worker has never answered, unless it refuses the run
   */
  async read(): Promise<void> {
    await Promise.all(
      this.lines.map(async (line, via) => {
        line.separate();
        try {
          for (let reading = 0; reading < READINGS; reading++) line.add(await this.#control.clock(via));
        } catch (error) {
          // If a clock cannot be read, its previous reading stays valid, with an error that grows with time.
          if (line.boundUs === Number.POSITIVE_INFINITY && absenceReasonOf(error) !== 'refused') throw error;
        }
      }),
    );
  }

  /** Starts periodic readings of the clocks of other hosts. */
  follow(): void {
    for (const [via, line] of this.lines.entries()) {
      if (line.isOurs) continue;
      this.#unfollow.push(followClock(line, () => this.#control.clock(via, INTERVAL_MS), INTERVAL_MS));
    }
  }

  /** Idempotent. */
  close(): void {
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
  }
}
