/** Memory that a connection keeps in the workers, by package and allocating function. */
import type { MemoryPlaces } from '../../../protocol/result/places-schema.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { knownSavings } from './known-savings.ts';
import { largest, placeRows } from './place-rows.ts';

type Measured = Pick<Measurements, 'heapProfiles' | 'plateaus'>;

/** @returns undefined without profiles, connections, or what V8 counted at the baseline and at the last plateau */
export function memoryPlaces({ heapProfiles, plateaus }: Measured): MemoryPlaces | undefined {
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  if (!heapProfiles || heapProfiles instanceof Error || heapProfiles.length === 0 || !first || !last) return undefined;
  const { connections } = last;
  const growth = (figure: string) =>
    ((last.layers[figure] ?? Number.NaN) - (first.layers[figure] ?? Number.NaN)) / connections;
  const [growthBytes, externalBytes] = [growth('workerKept'), growth('workerExternal')];
  if (!Number.isFinite(growthBytes) || !Number.isFinite(externalBytes)) return undefined;
  const { packages, functions } = placeRows(heapProfiles, connections);
  const external = { name: 'external', value: externalBytes, halfWidth95: 0 };
  const all = [...packages, external].toSorted(largest);
  return {
    connections,
    growthBytes,
    packages: all.map(({ value, ...row }) => ({ ...row, bytes: value })),
    functions: functions.map(({ value, ...row }) => ({ ...row, bytes: value })),
    savings: knownSavings(heapProfiles, connections, externalBytes),
    unattributedBytes: growthBytes - all.reduce((sum, { value }) => sum + value, 0),
  };
}
