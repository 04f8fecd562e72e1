/** Records the memory and the CPU time of each process of a layer over time. */
import { BoundedSeries } from '../../../protocol/base/bounded-series.ts';
import type { ProcessReading } from './proc.ts';

interface Row {
  t: number;
  processes: ReadonlyMap<number, { rssBytes: number; cpuUs: number }>;
}

const MAX_ROWS = 200;
/** Maximum number of processes to record. A chart with more curves would be unreadable. */
const MAX_PROCESSES = 32;

export class ProcessSeries {
  readonly #rows = new BoundedSeries<Row>(MAX_ROWS, mergeRows);

  add(t: number, pids: number[], readings: Map<number, ProcessReading>): void {
    const processes = pids.flatMap((pid) => {
      const reading = readings.get(pid);
      return reading ? [[pid, { rssBytes: reading.rssBytes, cpuUs: reading.cpuUs }] as const] : [];
    });
    this.#rows.add({ t, processes: new Map(processes) });
  }

  /**
   * Returns the time series of the first `MAX_PROCESSES` processes: `t` in seconds; `cpuPercent`, the percentage of one
   * core since the previous value, null for the first value.
   */
  read() {
    const { rows } = this.#rows;
    const pids = [...new Set(rows.flatMap(({ processes }) => [...processes.keys()]))].slice(0, MAX_PROCESSES);
    return pids.map((pid) => {
      const own = rows.flatMap(({ t, processes }) => {
        const reading = processes.get(pid);
        return reading ? [{ t, ...reading }] : [];
      });
      return {
        pid,
        t: own.map(({ t }) => t),
        rssBytes: own.map(({ rssBytes }) => rssBytes),
        cpuPercent: own.map(({ t, cpuUs }, index) => {
          const before = own[index - 1];
          return before && t > before.t ? Math.round((cpuUs - before.cpuUs) / (t - before.t) / 1000) / 10 : null;
        }),
      };
    });
  }
}

/** Merges two rows of a time series: keeps the higher memory, so that no peak is lost, and the later CPU time. */
function mergeRows(older: Row, newer: Row): Row {
  const processes = new Map(newer.processes);
  for (const [pid, before] of older.processes) {
    const now = processes.get(pid) ?? before;
    processes.set(pid, { ...now, rssBytes: Math.max(before.rssBytes, now.rssBytes) });
  }
  return { t: newer.t, processes };
}
