/**
 * Finds layers whose memory remains after connections close, and the causes. Findings, answer and report use these
 * functions.
 */
import type { MemoryDrift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import { type DescribedLayers, layerFamily, layersInTableOrder } from './layers.ts';

/** Id of the memory figure that excludes free pages of a worker's allocators. */
const WITHOUT_PAGES = 'workerKept';
const KEPT = [WITHOUT_PAGES, 'workerHeapUsed', 'workerExternal'];
/**
 * Memory figures from which the workers' answer is chosen. A figure that covers more of a worker's memory comes first.
 */
export const WORKER_FIGURES = ['workerRss', 'workerWorkingSet', ...KEPT];

/** Pattern of ids for memory figures of the workers' own processes. Child processes are a separate layer. */
const OF_WORKERS = /^worker(?!Children)/;

export interface LayerDrift {
  layer: string;
  drift: MemoryDrift;
}

/** Whether memory rises per connection or over time. Both are false if the readings cannot distinguish the causes. */
export interface LeakCauses {
  perConnection: boolean;
  inTime: boolean;
  /** Set if RSS rises, but heap and external memory do not. The rise can then consist of free memory pages. */
  onlyPages?: { excluded: true } | { cannotTellBelow: number; connections: number };
}

function causes({ leaks, low95, perSecond }: MemoryDrift): Omit<LeakCauses, 'onlyPages'> {
  const isCertain = leaks === true && perSecond !== null;
  return { perConnection: isCertain && (low95 ?? 0) > 0, inTime: isCertain && perSecond.low95 > 0 };
}

/**
 * Returns the causes of a rise in memory. RSS also rises when V8 compiles code or when an allocator keeps free pages,
 * so a cause is confirmed only if heap or external memory rises as well.
 */
export function confirmedCauses(layer: string, found: OverTimeResult): LeakCauses {
  const drift = found.drift[layer] as MemoryDrift;
  const own = causes(drift);
  const kept = OF_WORKERS.test(layer) && !KEPT.includes(layer) ? KEPT.flatMap((id) => found.drift[id] ?? []) : [];
  if (kept.length === 0) return own;
  if (kept.every(({ leaks }) => leaks === false)) return { ...own, onlyPages: pagesEvidence(kept, drift, found) };
  const shown = kept.filter(({ leaks }) => leaks).map(causes);
  const perConnection = own.perConnection && shown.some((one) => one.perConnection);
  const inTime = own.inTime && shown.some((one) => one.inTime);
  return perConnection || inTime ? { perConnection, inTime } : own;
}

/**
 * Returns whether the readings of heap and external memory exclude a rise as large as the lower end of the RSS
 * interval. If they do not, returns how large waves must be to decide.
 */
function pagesEvidence(
  kept: MemoryDrift[],
  { low95 }: MemoryDrift,
  found: OverTimeResult,
): NonNullable<LeakCauses['onlyPages']> {
  const bound = Math.max(...kept.map(({ noLeakAbove }) => noLeakAbove ?? 0));
  const least = low95 ?? 0;
  if (least <= 0 || bound < least) return { excluded: true };
  const used = found.readings.slice(found.warmUpReadings);
  const gone = (used.at(-1)?.gone ?? 0) - (used[0]?.gone ?? 0);
  const perStep = found.kind === 'waves' ? gone / Math.max(1, used.length - 1) : gone;
  return { cannotTellBelow: bound, connections: roundUpTwoDigits((perStep * bound) / least) };
}

/** Rounds a count up to two significant digits. */
export function roundUpTwoDigits(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.ceil(count / unit - 1e-9) * unit;
}

/** External memory is too small a part of a worker to exclude a leak. */
const EXTERNAL_MEMORY = 'workerExternal';

/**
 * Chooses the memory figure for the workers' answer. Heap and external memory are preferred to RSS if their interval is
 * narrower and overlaps, because RSS fluctuates by megabytes.
 * @returns the first figure with a leak, else the first figure that excludes a leak, else the figure that covers the
 * whole memory
 */
export function workersDrift({ drift }: OverTimeResult): LayerDrift | null {
  const found = WORKER_FIGURES.flatMap((layer) => (drift[layer] ? [{ layer, drift: drift[layer] }] : []));
  const excluding = found.find((one) => one.drift.leaks === false && one.layer !== EXTERNAL_MEMORY);
  const leaking = found.find((one) => one.drift.leaks);
  const kept = drift[WITHOUT_PAGES];
  if (leaking && kept?.leaks && isMoreAccurate(kept, leaking.drift) && !causes(leaking.drift).inTime)
    return { layer: WITHOUT_PAGES, drift: kept };
  return leaking ?? excluding ?? found[0] ?? null;
}

/**
 * Returns whether the 95 % interval of one figure's growth per connection is narrower than the interval of the other
 * figure, and overlaps it.
 */
function isMoreAccurate(one: MemoryDrift, other: MemoryDrift): boolean {
  const [low, high] = [other.low95 ?? Number.NEGATIVE_INFINITY, other.high95 ?? Number.POSITIVE_INFINITY];
  if (one.low95 === null || one.high95 === null) return false;
  return one.high95 - one.low95 <= high - low && one.high95 >= low && one.low95 <= high;
}

/** Memory figures of the machine that can show a leak. The machine's other figures change with every program. */
const OF_MACHINE = ['kernelSlab', 'kernelTcp', 'systemShared'];

/** Returns layers that leak memory per connection or over time. The whole 95 % interval of a leak is above 0. */
export function leakingLayers(result: DescribedLayers): LayerDrift[] {
  const { overTime: found } = result.memory;
  if (!found) return [];
  return [workersDrift(found) ?? [], driftsBesideWorkers(result)]
    .flat()
    .filter(({ layer, drift }) => drift.leaks && confirmedCauses(layer, found).onlyPages === undefined);
}

/**
 * Returns the number of layers and object counts that leak. Null if none leaks and the readings of the workers are
 * inconclusive.
 */
export function countProvenLeaks(result: DescribedLayers): number | null {
  const { overTime: found } = result.memory;
  if (!found) return null;
  const proven = leakingLayers(result).length + found.counts.filter(({ isKept }) => isKept).length;
  return proven === 0 && workersDrift(found)?.drift.leaks !== false ? null : proven;
}

/** Returns one memory figure for each layer except the workers, in the order of tables. */
export function driftsBesideWorkers(result: DescribedLayers): LayerDrift[] {
  const { layers, overTime } = result.memory;
  const isOfOthers = (id: string) =>
    OF_MACHINE.includes(id) ||
    (layers.find((one) => one.id === id)?.belongsTo === 'deployment' && !OF_WORKERS.test(id));
  const ids = layersInTableOrder(result, Object.keys(overTime?.drift ?? {})).filter(isOfOthers);
  const groups = Map.groupBy(ids, (id) => (OF_MACHINE.includes(id) ? id : layerFamily(id)));
  const isMain = ({ layer }: LayerDrift) => layers.find(({ id }) => id === layer)?.main;
  return [...groups.values()].map((group) => {
    const drifts = group.map((layer) => ({ layer, drift: overTime?.drift[layer] as MemoryDrift }));
    const main = drifts.find(isMain);
    if (main && main.drift.leaks !== null) return main;
    return drifts.find(({ drift }) => drift.leaks) ?? main ?? (drifts[0] as LayerDrift);
  });
}
