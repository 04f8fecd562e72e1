/** How well the clocks are known that one-way latencies lie between: of the worker that sends, and of the host that receives. */
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';

type Clocks = Result['latency']['clocks'];
type Sides = Pick<Result['latency'], 'from' | 'clocks'>;

/** A row for each worker, over the broadcasts, or over the whole run without any. Empty before the first reading. */
export function clockRows({ clocks, sent, workersAtStart }: Measurements): Clocks {
  if (clocks.some(({ boundUs }) => boundUs === Number.POSITIVE_INFINITY)) return [];
  const timesUs = sent.map(({ sentAtUs }) => sentAtUs).sort((a, b) => a - b);
  const [firstUs = Number.POSITIVE_INFINITY, lastUs = Number.POSITIVE_INFINITY] = [timesUs[0], timesUs.at(-1)];
  return clocks.map((line, index) => ({
    worker: workersAtStart[index]?.worker ?? String(index),
    offsetUs: Math.round(line.offsetAt(firstUs)),
    uncertaintyUs: Math.ceil(
      timesUs.length > 0 ? timesUs.reduce((most, atUs) => Math.max(most, line.boundAt(atUs)), 0) : line.boundUs,
    ),
    driftUs: Math.round(line.offsetAt(lastUs) - line.offsetAt(firstUs)),
    jumpUs: Math.round(line.jumpUs()),
  }));
}

/** @returns the worker whose clock is known least; undefined where no latency counts from a worker's clock */
export function leastKnownWorker({ from, clocks }: Sides): Clocks[number] | undefined {
  if (from !== 'server') return undefined;
  return clocks.toSorted((a, b) => b.uncertaintyUs - a.uncertaintyUs)[0];
}

/** @returns by how much a one-way latency may be wrong; 0 where all is on one clock */
export function latencyErrorUs(latency: Sides, { hosts = [] }: Measurements): number {
  const ofHostsUs = Math.max(0, ...hosts.map(({ clock }) => clock?.boundUs ?? 0));
  return (leastKnownWorker(latency)?.uncertaintyUs ?? 0) + ofHostsUs;
}
