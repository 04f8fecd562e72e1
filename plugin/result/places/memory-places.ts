/** Memory that a connection keeps in the workers, or leaves behind there, by package and allocating function. */
import type { MemoryPlaces } from '../../../protocol/result/places-schema.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { knownSavings } from './known-savings.ts';
import { largest, placeRows } from './place-rows.ts';

type Measured = Pick<Measurements, 'heapProfiles' | 'plateaus'> & Partial<Pick<Measurements, 'overTime'>>;

/** @returns undefined without profiles, connections, or what V8 counted at both ends */
export function memoryPlaces(measured: Measured): MemoryPlaces | undefined {
  const { heapProfiles } = measured;
  const ends = endsOf(measured);
  if (!heapProfiles || heapProfiles instanceof Error || heapProfiles.length === 0 || !ends) return undefined;
  const { first, last, connections } = ends;
  const growth = (figure: string) =>
    ((last.layers[figure] ?? Number.NaN) - (first.layers[figure] ?? Number.NaN)) / connections;
  const [growthBytes, externalBytes] = [growth('workerKept'), growth('workerExternal')];
  if (!Number.isFinite(growthBytes) || !Number.isFinite(externalBytes)) return undefined;
  const { packages, functions } = placeRows(heapProfiles, connections);
  const external = { name: 'external', value: externalBytes, halfWidth95: 0 };
  const all = [...packages, external].toSorted(largest);
  return {
    connections,
    ...(measured.overTime && { leftBehind: true }),
    growthBytes,
    packages: all.map(({ value, ...row }) => ({ ...row, bytes: value })),
    functions: functions.map(({ value, ...row }) => ({ ...row, bytes: value })),
    savings: knownSavings(heapProfiles, connections, externalBytes),
    unattributedBytes: growthBytes - all.reduce((sum, { value }) => sum + value, 0),
  };
}

/** Readings between which the profiles were taken, and the connections that were opened, or that came and went, between them. */
function endsOf({ plateaus, overTime }: Measured) {
  if (overTime) {
    const [first, last] = [overTime.readings.rows[0], overTime.readings.rows.at(-1)];
    const connections = (last?.gone ?? 0) - (first?.gone ?? 0);
    return overTime.kind === 'waves' && first && last && connections > 0 ? { first, last, connections } : undefined;
  }
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  return first && last && { first, last, connections: last.connections };
}
