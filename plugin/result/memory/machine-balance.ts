/**
 * Finds memory of the machine that grew with the connections and that no layer includes: shared memory, other programs,
 * the kernel. Each of the three has a separate interval, so that a noisy part does not hide an exact part.
 */
import type { Result } from '../../../protocol/result/result.ts';
import { fitPlateaus } from '../../../report/statistics/plateaus.ts';
import { sum } from '../../../report/statistics/statistics.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { MachineMemoryReading, Plateau } from '../../run/measurements/memory-measured.ts';
import { withoutBaseline } from './assemble-memory.ts';

type Balance = NonNullable<Result['memory']['balance']>;
type Part = Balance['parts'][number]['part'];
type Interval = Pick<Balance['parts'][number], 'bytes' | 'low95' | 'high95'>;
type Measured = Pick<Measurements, 'plateaus' | 'standstill'>;

const MB = 1024 ** 2;

interface Limits {
  figure: string;
  /** Growth of memory, in bytes, that other programs on a machine may cause. */
  noiseBytes: number;
  /** Growth of memory per connection that is normal, in bytes. */
  usualBytes: number;
}

const PARTS: Record<Part, Limits> = {
  shared: { figure: 'systemUnmeasuredShared', noiseBytes: MB, usualBytes: 0 },
  programs: { figure: 'systemUnmeasured', noiseBytes: 4 * MB, usualBytes: 0 },
  // A connection through a proxy has four sockets. Each takes 5 KB with its buffers and files.
  kernel: { figure: 'systemKernel', noiseBytes: 4 * MB, usualBytes: 32 * 1024 },
};
/** Minimum growth, as a share of the memory per connection in the headline. Smaller growth does not matter. */
const MIN_SHARE = 0.1;
const MAX_HOLDERS = 3;
/**
 * Minimum ratio between the lower end of an interval and its slope. On a busy machine, a program may grow by chance at
 * the same time as the connections.
 */
const MIN_CERTAINTY = 0.5;

/**
 * Returns the memory that no layer includes; null if the programs are on other machines, or if memory was read at only
 * one number of connections.
 */
export function machineBalance(
  { perConnection, perConnectionBytes }: Pick<Result['memory'], 'perConnection' | 'perConnectionBytes'>,
  measured: Measured,
): Balance | null {
  const last = measured.plateaus.at(-1)?.machine?.after;
  const connections = Math.max(...measured.plateaus.map((plateau) => plateau.connections));
  if (!last || connections <= 0) return null;
  const leastBytes = ({ noiseBytes, usualBytes }: Limits) =>
    Math.max(MIN_SHARE * (perConnection?.bytes ?? 0), noiseBytes / connections, usualBytes);
  const judged = (line: Interval, limits: Limits) => {
    const isSignificant = (line.low95 ?? 0) > Math.max(leastBytes(limits), MIN_CERTAINTY * line.bytes);
    return { ...line, isSignificant };
  };
  const parts = Object.entries(PARTS).flatMap(([part, limits]): Balance['parts'] => {
    const { figure } = limits;
    const slope = perConnectionBytes[figure];
    if (!slope) return [];
    const { slope: bytes, low95, high95 } = slope;
    const line = widened({ bytes, low95, high95 }, measured, ({ layers }) => layers[figure]);
    return [{ part: part as Part, ...judged(line, limits) }];
  });
  const holders = last.holders
    .flatMap(({ id, pid, name }): Balance['holders'] => {
      const bytesOf: BytesOf = (moment) => moment.holders.find((one) => one.id === id)?.bytes ?? 0;
      const line = name === undefined ? null : slopeOf(measured, bytesOf);
      const limits = pid === null ? PARTS.shared : PARTS.programs;
      if (name === undefined || !line || line.bytes <= leastBytes(limits)) return [];
      return [{ pid, name, ...judged(widened(line, measured, bytesOf), limits) }];
    })
    .toSorted((a, b) => Number(b.isSignificant) - Number(a.isSignificant) || b.bytes - a.bytes)
    .slice(0, MAX_HOLDERS);
  return { parts, holders };
}

type BytesOf = (moment: MachineMemoryReading) => number | undefined;

function slopeOf({ plateaus }: Measured, bytesOf: BytesOf): Interval | null {
  const points = withoutBaseline(plateaus).flatMap(({ connections, machine }) =>
    machine ? [{ x: connections, y: bytesOf(machine.after) ?? 0 }] : [],
  );
  const line = fitPlateaus(points);
  return line && { bytes: line.slope, low95: line.low95, high95: line.high95 };
}

/**
 * Returns the interval of a slope, widened by the growth without new connections: memory that changes during pauses may
 * also change during ramps.
 */
function widened(line: Interval, { plateaus, standstill }: Measured, bytesOf: BytesOf): Interval {
  const { bytes, low95, high95 } = line;
  const used = withoutBaseline(plateaus);
  const pauses = used.flatMap(({ machine }) => machine ?? []);
  const [first, last] = [pauses[0]?.after, pauses.at(-1)?.after];
  if (!first || !last || low95 === null || high95 === null) return line;
  const speed = Math.max(
    speedOf(pauses, bytesOf),
    speedOf(standstill ? [{ before: last, after: standstill }] : [], bytesOf),
  );
  const rampSeconds = last.t - first.t - sum(pauses.slice(1).map(({ before, after }) => after.t - before.t));
  const arrived = (used.at(-1)?.connections ?? 0) - (used[0]?.connections ?? 0);
  const drift = (speed * Math.max(0, rampSeconds)) / Math.max(1, arrived);
  return { bytes, low95: Math.min(low95, bytes - drift), high95: Math.max(high95, bytes + drift) };
}

/** Returns how fast memory changed in the pauses, in bytes per second. */
function speedOf(pauses: NonNullable<Plateau['machine']>[], bytesOf: BytesOf): number {
  const seconds = sum(pauses.map(({ before, after }) => after.t - before.t));
  const moved = pauses.map(({ before, after }) => Math.abs((bytesOf(after) ?? 0) - (bytesOf(before) ?? 0)));
  return seconds > 0 ? sum(moved) / seconds : 0;
}
