/** Who uses the CPUs of this machine, now and then during a run, and whenever it is asked. */
import { BoundedSeries } from '../../../protocol/bounded-series.ts';
import type { MachineSharesOverTime } from '../../../protocol/result/machine.ts';
import { MachineTime, type MachineTotals } from './machine-time.ts';
import { sharesBetween } from './shares.ts';

/** Of the time, so much for reading all processes of the machine, which is to be done every few seconds in any case. */
const SHARE = 0.01;
const MAX_INTERVAL_MS = 5000;
/** In a long run, each row stands for several readings. */
const MAX_ROWS = 200;

export class MachineWatch {
  readonly #roots: () => Promise<number[] | undefined>;
  readonly #time: Pick<MachineTime, 'read'>;
  // Totals: the later ones of two contain the older ones.
  readonly #rows = new BoundedSeries<{ t: number; totals: MachineTotals }>(MAX_ROWS, (_, later) => later);
  #dueMs = 0;

  /** @param roots as of `MachineTime.read` */
  constructor(roots: () => Promise<number[] | undefined>, time: Pick<MachineTime, 'read'> = new MachineTime()) {
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
    if (totals) this.#rows.add({ t: seconds(), totals: withoutNames(totals) });
  }

  /** Each value is since the one before; the first reading has none. */
  overTime(): MachineSharesOverTime {
    const { rows } = this.#rows;
    const shares = rows.slice(1).flatMap(({ t, totals }, index) => {
      const one = sharesBetween((rows[index] as (typeof rows)[number]).totals, totals);
      return one ? [{ t, ...one }] : [];
    });
    const column = <Key extends keyof MachineSharesOverTime & keyof (typeof shares)[number]>(key: Key) =>
      shares.map((one) => one[key]);
    return {
      t: column('t'),
      busyCores: column('busyCores'),
      oursCores: column('oursCores'),
      othersCores: column('othersCores'),
      stealCores: column('stealCores'),
      pressurePercent: column('pressurePercent'),
      meanMhz: column('meanMhz'),
    };
  }
}

function withoutNames({ processes, ...totals }: MachineTotals): MachineTotals {
  return { ...totals, processes: processes && { ...processes, programsUs: new Map() } };
}
