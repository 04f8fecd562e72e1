/**
 * What the machine's programs took with each connection, beyond the measured processes: files in /dev/shm or a tmpfs, and processes
 * that no layer includes. The difference is taken in each reading and then fitted, so that noise of the measured processes cancels out.
 */
import type { Result } from '../../../protocol/result/result.ts';
import { fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import { mean, sum } from '../../../report/statistics/statistics.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes, OtherProgram, Plateau } from '../../run/measurements/memory.ts';
import type { Sampler } from '../../samplers/index.ts';
import { withoutBaseline } from './memory.ts';

type Balance = Result['memory']['balance'];
type Measured = Pick<Measurements, 'plateaus' | 'afterBroadcasts' | 'otherPrograms'>;

const MACHINE = 'systemPrograms';
const SHARED = 'systemShared';
/** Share of what the measured processes take: less changes no decision. */
const MIN_SHARE = 0.1;
/** Of all connections together: programs of an idle machine move by as much. */
const NOISE_BYTES = 4 * 1024 ** 2;
const MAX_PROGRAMS = 3;
/** Share of what is unexplained. */
const MIN_PROGRAM_SHARE = 0.1;

/** @returns null where the programs are on other machines, or where one of the measured parts cannot be read */
export function machineBalance(measured: Measured, { layers }: Pick<Sampler, 'layers'>): Balance {
  const { plateaus, otherPrograms } = measured;
  const processes = layers.flatMap(({ id, isProcesses }) => (isProcesses ? [id] : []));
  const parts = partsOf(plateaus, processes);
  if (!otherPrograms || !parts || !isInAll(plateaus, MACHINE)) return null;
  const fit = (of: (bytes: LayerBytes) => number) => fitPlateaus(pointsOf(plateaus, of));
  const ofParts = (bytes: LayerBytes) => sum(parts.map((id) => bytes[id] ?? 0));
  const restOf = (bytes: LayerBytes) => (bytes[MACHINE] ?? 0) - ofParts(bytes);
  const [own, rest] = [fit(ofParts), fit(restOf)];
  if (!own || !rest) return null;
  const shared = isInAll(plateaus, SHARED) ? fit((bytes) => bytes[SHARED] ?? 0) : null;
  const connections = Math.max(...plateaus.map((plateau) => plateau.connections));
  // What still changes while nobody comes does not belong to connections.
  const driftBytes = Math.abs(driftOf(measured, [MACHINE, ...parts], restOf)) / connections;
  const low95 = rest.low95 === null ? null : Math.min(rest.low95, rest.slope - driftBytes);
  const high95 = rest.high95 === null ? null : Math.max(rest.high95, rest.slope + driftBytes);
  const leastBytes = Math.max(MIN_SHARE * Math.abs(own.slope), NOISE_BYTES / connections);
  return {
    unexplainedBytes: rest.slope,
    low95,
    high95,
    sharedBytes: shared?.slope ?? null,
    isSignificant: low95 !== null && low95 > leastBytes,
    programs: grownPrograms(otherPrograms, Math.max(rest.slope * connections * MIN_PROGRAM_SHARE, NOISE_BYTES / 4)),
  };
}

/** @returns PSS of each layer of processes, or RSS where only that is known; undefined without the workers */
function partsOf(plateaus: Plateau[], processes: string[]): string[] | undefined {
  const parts = processes.flatMap((id) => [`${id}Pss`, `${id}Rss`].find((figure) => isInAll(plateaus, figure)) ?? []);
  const areIncomplete = processes.some(
    (id) => isInSome(plateaus, `${id}Rss`) && !parts.includes(`${id}Pss`) && !parts.includes(`${id}Rss`),
  );
  return parts.includes('workerPss') && !areIncomplete ? parts : undefined;
}

function isInAll(plateaus: Plateau[], figure: string): boolean {
  return plateaus.length > 0 && plateaus.every(({ layers }) => figure in layers);
}

function isInSome(plateaus: Plateau[], figure: string): boolean {
  return plateaus.some(({ layers }) => figure in layers);
}

function pointsOf(plateaus: Plateau[], of: (bytes: LayerBytes) => number): PlateauPoint[] {
  return withoutBaseline(plateaus).map(({ connections, layers, readings = [] }) => {
    const values = readings.map(of);
    const [y, n] = [of(layers), values.length];
    if (n < 2) return { x: connections, y };
    const middle = mean(values);
    return { x: connections, y, variance: sum(values.map((value) => (value - middle) ** 2)) / (n - 1) / n };
  });
}

/** From the last plateau until after the broadcasts, with the same connections; 0 where one of the figures is not known. */
function driftOf(
  { plateaus, afterBroadcasts }: Measured,
  figures: string[],
  of: (bytes: LayerBytes) => number,
): number {
  const full = plateaus.at(-1)?.layers;
  if (!full || !afterBroadcasts || figures.some((figure) => !(figure in afterBroadcasts))) return 0;
  return of(afterBroadcasts) - of(full);
}

function grownPrograms({ first, last }: { first: OtherProgram[]; last: OtherProgram[] }, leastBytes: number) {
  const before = new Map(first.map((one) => [`${one.pid} ${one.startedAtUs}`, one.rssBytes]));
  return last
    .map(({ pid, startedAtUs, command, rssBytes }) => {
      const grewBytes = rssBytes - (before.get(`${pid} ${startedAtUs}`) ?? 0);
      return { pid, command, grewBytes };
    })
    .filter(({ grewBytes }) => grewBytes >= leastBytes)
    .toSorted((a, b) => b.grewBytes - a.grewBytes)
    .slice(0, MAX_PROGRAMS);
}
