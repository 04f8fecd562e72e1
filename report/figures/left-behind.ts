/** Which layers keep memory after connections have left, and why: what findings, answer and report share. */
import type { Drift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import { type Described, familyOf, inOrder } from './layers.ts';

/** All that a worker keeps, without the pages that its allocators hold in reserve; then its parts. */
const WITHOUT_PAGES = 'workerKept';
const KEPT = [WITHOUT_PAGES, 'workerHeapUsed', 'workerExternal'];
/** Figures that answer for the workers, all of their memory first. */
export const ANSWERING = ['workerRss', 'workerWorkingSet', ...KEPT];

/** Figures of the workers themselves; processes that they have started are a layer of their own. */
const OF_WORKERS = /^worker(?!Children)/;

export interface LayerDrift {
  layer: string;
  drift: Drift;
}

/** The cause of a rise; neither if the readings cannot distinguish them. */
export interface Causes {
  perConnection: boolean;
  inTime: boolean;
  /** Pages alone rise, which may be free ones: what heap and external memory show meanwhile; undefined where they rise, too. */
  onlyPages?: { excluded: true } | { cannotTellBelow: number; connections: number };
}

function causes({ leaks, low95, perSecond }: Drift): Omit<Causes, 'onlyPages'> {
  const isTold = leaks === true && perSecond !== null;
  return { perConnection: isTold && (low95 ?? 0) > 0, inTime: isTold && perSecond.low95 > 0 };
}

/**
 * Pages of a worker also grow because V8 compiles, or because its allocators hold free ones: only what heap or external memory
 * show as well is a leak by this cause.
 */
export function confirmedCauses(layer: string, found: OverTimeResult): Causes {
  const drift = found.drift[layer] as Drift;
  const own = causes(drift);
  const kept = OF_WORKERS.test(layer) && !KEPT.includes(layer) ? KEPT.flatMap((id) => found.drift[id] ?? []) : [];
  if (kept.length === 0) return own;
  if (kept.every(({ leaks }) => leaks === false)) return { ...own, onlyPages: shownBy(kept, drift, found) };
  const shown = kept.filter(({ leaks }) => leaks).map(causes);
  const perConnection = own.perConnection && shown.some((one) => one.perConnection);
  const inTime = own.inTime && shown.some((one) => one.inTime);
  return perConnection || inTime ? { perConnection, inTime } : own;
}

/** @returns whether the figures exclude even the lower end of what the pages show; else the waves of which they would */
function shownBy(kept: Drift[], { low95 }: Drift, found: OverTimeResult): NonNullable<Causes['onlyPages']> {
  const bound = Math.max(...kept.map(({ noLeakAbove }) => noLeakAbove ?? 0));
  const least = low95 ?? 0;
  if (least <= 0 || bound < least) return { excluded: true };
  const used = found.readings.slice(found.warmUpReadings);
  const gone = (used.at(-1)?.gone ?? 0) - (used[0]?.gone ?? 0);
  const perStep = found.kind === 'waves' ? gone / Math.max(1, used.length - 1) : gone;
  return { cannotTellBelow: bound, connections: roundedUp((perStep * bound) / least) };
}

/** @returns two digits, the others zero */
export function roundedUp(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.ceil(count / unit - 1e-9) * unit;
}

/** Too small a part of a worker's memory to exclude a leak. */
const PART = 'workerExternal';

/**
 * Pages come and go by the megabyte: where heap and external memory together may show the same leak, with a narrower interval, they answer.
 * @returns the workers’ leak if any of their figures shows one, else the first that excludes one, else all of their memory
 */
export function workersDrift({ drift }: OverTimeResult): LayerDrift | null {
  const found = ANSWERING.flatMap((layer) => (drift[layer] ? [{ layer, drift: drift[layer] }] : []));
  const excluding = found.find((one) => one.drift.leaks === false && one.layer !== PART);
  const leaking = found.find((one) => one.drift.leaks);
  const kept = drift[WITHOUT_PAGES];
  if (leaking && kept?.leaks && isFiner(kept, leaking.drift) && !causes(leaking.drift).inTime)
    return { layer: WITHOUT_PAGES, drift: kept };
  return leaking ?? excluding ?? found[0] ?? null;
}

/** Returns whether the 95 % interval for each connection is narrower, and may contain the same value. */
function isFiner(one: Drift, other: Drift): boolean {
  const [low, high] = [other.low95 ?? Number.NEGATIVE_INFINITY, other.high95 ?? Number.POSITIVE_INFINITY];
  if (one.low95 === null || one.high95 === null) return false;
  return one.high95 - one.low95 <= high - low && one.high95 >= low && one.low95 <= high;
}

/** Moves with whatever runs on the machine, so no layer of it answers but shared memory and the sockets. */
const OF_MACHINE = ['kernelSlab', 'kernelTcp', 'systemShared'];

/** @returns layers that keep memory of connections that have left, or grow in time, whole interval above 0 */
export function leakingLayers(result: Described): LayerDrift[] {
  const { overTime: found } = result.memory;
  if (!found) return [];
  return [workersDrift(found) ?? [], otherDrifts(result)]
    .flat()
    .filter(({ layer, drift }) => drift.leaks && confirmedCauses(layer, found).onlyPages === undefined);
}

/** @returns layers and counts that leak; null where there are none, and the workers' readings cannot tell */
export function provenLeaks(result: Described): number | null {
  const { overTime: found } = result.memory;
  if (!found) return null;
  const proven = leakingLayers(result).length + found.counts.filter(({ isKept }) => isKept).length;
  return proven === 0 && workersDrift(found)?.drift.leaks !== false ? null : proven;
}

/** @returns the layers beside the workers, one figure of each, in the order of tables */
export function otherDrifts(result: Described): LayerDrift[] {
  const { layers, overTime } = result.memory;
  const isOfOthers = (id: string) =>
    OF_MACHINE.includes(id) ||
    (layers.find((one) => one.id === id)?.belongsTo === 'deployment' && !OF_WORKERS.test(id));
  const ids = inOrder(result, Object.keys(overTime?.drift ?? {})).filter(isOfOthers);
  const groups = Map.groupBy(ids, (id) => (OF_MACHINE.includes(id) ? id : familyOf(id)));
  const isMain = ({ layer }: LayerDrift) => layers.find(({ id }) => id === layer)?.main;
  return [...groups.values()].map((group) => {
    const drifts = group.map((layer) => ({ layer, drift: overTime?.drift[layer] as Drift }));
    const main = drifts.find(isMain);
    if (main && main.drift.leaks !== null) return main;
    return drifts.find(({ drift }) => drift.leaks) ?? main ?? (drifts[0] as LayerDrift);
  });
}
