/** Who used the CPUs of this machine, over time. */
import { BoundedSeries } from '../../../protocol/bounded-series.ts';
import type { MachineSharesOverTime } from '../../../protocol/result/machine.ts';
import type { MachineTotals } from './machine-time.ts';
import { sharesBetween } from './shares.ts';

/** In a long run, each stands for several readings. */
const MAX_ROWS = 200;

export class MachineSeries {
  // Totals: the later ones of two contain the older ones.
  readonly #rows = new BoundedSeries<{ t: number; totals: MachineTotals }>(MAX_ROWS, (_, later) => later);

  /** @param t seconds since the start of the time series */
  add(t: number, { processes, ...totals }: MachineTotals): void {
    const unnamed = processes && { ...processes, programsUs: new Map() };
    this.#rows.add({ t, totals: { ...totals, processes: unnamed } });
  }

  /** Each value is since the one before; the first reading has none. */
  read(): MachineSharesOverTime {
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
