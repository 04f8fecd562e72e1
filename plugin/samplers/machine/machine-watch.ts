/** Who uses the CPUs of this machine, now and then during a run, and whenever it is asked. */
import type { MachineSharesOverTime } from '../../../protocol/result/machine.ts';
import { MachineSeries } from './machine-series.ts';
import { MachineTime, type MachineTotals } from './machine-time.ts';

/** Of the time, so much for reading all processes of the machine, which is to be done every few seconds in any case. */
const SHARE = 0.01;
const MAX_INTERVAL_MS = 5000;

export class MachineWatch {
  readonly #roots: () => Promise<number[] | undefined>;
  readonly #time: MachineTime;
  readonly #series = new MachineSeries();
  #dueMs = 0;

  /** @param roots as of `MachineTime.read` */
  constructor(roots: () => Promise<number[] | undefined>, time = new MachineTime()) {
    this.#roots = roots;
    this.#time = time;
  }

  /** @returns undefined where this machine does not tell. Never rejects */
  async totals(): Promise<MachineTotals | undefined> {
    const roots = await this.#roots().catch(() => undefined);
    return this.#time.read(roots).catch(() => undefined);
  }

  /** Adds to the series if it is time for it. @param seconds since the start of the time series. Never rejects */
  async tick(seconds: () => number): Promise<void> {
    const beganMs = performance.now();
    if (beganMs < this.#dueMs) return;
    this.#dueMs = Number.POSITIVE_INFINITY;
    const totals = await this.totals();
    this.#dueMs = beganMs + Math.min(MAX_INTERVAL_MS, (performance.now() - beganMs) / SHARE);
    if (totals) this.#series.add(seconds(), totals);
  }

  overTime(): MachineSharesOverTime {
    return this.#series.read();
  }
}
