/**
 * The workers' clocks against the run's. On one host there is one monotonic clock; the clocks of other hosts started with
 * them, and drift. So these are read over the whole run, and most precisely just before and after whatever counts.
 */
import { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import { followClock } from '../../../protocol/base/clock/clock-reading.ts';
import { reasonOf } from '../../samplers/index.ts';
import type { Control } from './control-client.ts';

/** At once, of which the quickest counts. */
const READINGS = 16;
/** In between. More often would be work for the workers, which are what is measured. */
const INTERVAL_MS = 1000;

export class WorkerClocks {
  /** In the workers' order. */
  readonly lines: ClockLine[];
  readonly #control: Pick<Control, 'clock'>;
  readonly #unfollow: (() => void)[] = [];

  /** @param here of each worker: whether it runs on this host */
  constructor(control: Pick<Control, 'clock'>, here: boolean[]) {
    this.#control = control;
    this.lines = here.map((sharesKernel) => new ClockLine(sharesKernel));
  }

  /** Reads the clocks of all workers that answer. @throws if one that lets the run in has never answered */
  async read(): Promise<void> {
    await Promise.all(
      this.lines.map(async (line, via) => {
        line.separate();
        try {
          for (let reading = 0; reading < READINGS; reading++) line.add(await this.#control.clock(via));
        } catch (error) {
          // The last reading is still valid; its error grows with the time since.
          if (line.boundUs === Number.POSITIVE_INFINITY && reasonOf(error) !== 'refused') throw error;
        }
      }),
    );
  }

  /** From now on, again and again, those that are not this host's clock. */
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
