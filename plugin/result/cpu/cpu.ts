/** CPU that connections and messages cost, without what the same time costs anyway. */
import { MIN_BROADCAST_PARTS } from '../../../protocol/result/machine.ts';
import type { Interval } from '../../../protocol/result/parts.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { studentT } from '../../../report/statistics/student.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { CpuWindow } from '../../run/measurements/windows.ts';
import type { Layer } from '../../samplers/index.ts';
import { impossibleCpu } from '../invariants/cpu.ts';
import { sum } from '../sums.ts';
import { inOrder } from './windows.ts';

type Cpu = Result['cpu'][string];

const CONFIDENCE = 0.95;
/** The kernel's tick. */
const RESOLUTION_US = 10_000;
/** Two ramps predict next to nothing about a third. */
const MIN_RAMPS = 3;
/** Likewise parts of the hold. */
const MIN_PARTS = 3;

/** Without a half width, the noise is unknown. */
interface Measured {
  value: number;
  halfWidth: number | null;
}

/** A layer while connections are idle. */
interface Background {
  usPerSec: number;
  /** Standard deviation of the parts; null with one part. */
  noise: { deviation: number; parts: number; partSeconds: number; t: number } | null;
}

/** @param incomplete layers with processes that could not be read @returns figures of layers whose CPU time can be */
export function cpuFigures(
  measurements: Measurements,
  layers: readonly Layer[],
  incomplete: ReadonlySet<string> = new Set(),
): Result['cpu'] {
  const { sharedHost, cpu } = measurements;
  const wrong = impossibleCpu(measurements).flatMap(({ figures }) => figures);
  const seen = new Set(
    inOrder(cpu)
      .flatMap((window) => Object.keys(window.cpuUs))
      .filter((id) => !wrong.includes(id)),
  );
  // If the workers run on another machine, this one is only the generator's.
  const own = layers.filter(({ id, belongsTo }) => seen.has(id) && (sharedHost || belongsTo !== 'machine'));
  return Object.fromEntries(
    own.map(({ id }) => [id, { ...layerFigures(id, cpu), ...(incomplete.has(id) && { isAtLeast: true }) }]),
  );
}

function layerFigures(layer: string, measured: Measurements['cpu']): Cpu {
  const { unloaded, ramps, idle, messages, broadcasts } = complete(measured, layer);
  // Messages go on during the broadcasts, and begin with each connection: they are not idle, and still the background.
  const background = backgroundOf(messages.length > 0 ? messages : idle, layer);
  const ramp = known(perThousandConnects(ramps, background, layer));
  const before = backgroundOf(unloaded, layer);
  // Timers of the application run without messages, too: with connections or, if the run has no such window, before the first one.
  const quiet = idle.length > 0 || messages.length === 0 ? idle : unloaded;
  const withoutMessages = backgroundOf(quiet, layer);
  const held = idlePercent(quiet, withoutMessages);
  const waiting = known(held);
  const added = known(messages.length > 0 ? null : difference(held, idlePercent(unloaded, before)));
  const sent = known(perMessage(messages, withoutMessages, layer, MIN_PARTS));
  const message = known(perMessage(broadcasts, background, layer, MIN_BROADCAST_PARTS));
  return {
    rampSecondsPerThousandConnects: ramp.value,
    idlePercent: waiting.value,
    idleConnectionsPercent: added.value,
    broadcastMicrosecondsPerMessage: message.value,
    clientMicrosecondsPerMessage: sent.value,
    intervals: {
      rampSecondsPerThousandConnects: ramp.interval,
      idlePercent: waiting.interval,
      idleConnectionsPercent: added.interval,
      broadcastMicrosecondsPerMessage: message.interval,
      clientMicrosecondsPerMessage: sent.interval,
    },
  };
}

/**
 * Without the kinds of windows of which one lacks the layer, as a sum over the others would be too low. Whoever is not read any
 * more at the end has no figures at all: a page of metrics is refused late, if what it said before could not be.
 */
function complete(cpu: Measurements['cpu'], layer: string): Measurements['cpu'] {
  const has = ({ cpuUs }: CpuWindow) => layer in cpuUs;
  const isRead = inOrder(cpu).slice(-1).every(has);
  const of = (windows: CpuWindow[]) => (isRead && windows.every(has) ? windows : []);
  const { unloaded, ramps, idle, messages, broadcasts } = cpu;
  // What takes the background off needs it.
  const isKnown = [...idle, ...messages].every(has);
  return {
    unloaded: of(unloaded),
    ramps: isKnown ? of(ramps) : [],
    idle: of(idle),
    messages: of(messages),
    broadcasts: isKnown ? of(broadcasts) : [],
  };
}

function backgroundOf(idle: CpuWindow[], layer: string): Background | null {
  const seconds = sum(idle.map((part) => part.seconds));
  if (seconds === 0) return null;
  const usPerSec = sum(idle.map(({ cpuUs }) => cpuUs[layer] ?? 0)) / seconds;
  const parts = idle.length;
  if (parts < 2) return { usPerSec, noise: null };
  const deviation = deviationOf(idle.map(({ cpuUs, seconds }) => (cpuUs[layer] ?? 0) / seconds));
  return {
    usPerSec,
    noise: { deviation, parts, partSeconds: seconds / parts, t: studentT(CONFIDENCE, parts - 1) },
  };
}

/**
 * How far the background can be off in another window: its mean is not known exactly, and it varies.
 * @param seconds in which it varies; 0 if the window's own parts show by how much
 * @param usualSeconds the same time, weighed by how much of the background there was
 */
function noiseUs({ noise }: Background, seconds: number, usualSeconds: number): number | null {
  if (!noise) return null;
  const { deviation, parts, partSeconds, t } = noise;
  const us = t * deviation * Math.sqrt(usualSeconds ** 2 / parts + partSeconds * seconds);
  return Math.hypot(us, RESOLUTION_US);
}

/** Idle connections cost in proportion to their number: in a ramp, to the mean number of connections. */
function perThousandConnects(ramps: CpuWindow[], background: Background | null, layer: string): Measured | null {
  const connections = sum(ramps.map(({ units }) => units));
  if (connections <= 0) return null;
  let before = 0;
  const parts = ramps.map(({ cpuUs, seconds, units }) => {
    const usualSeconds = (seconds * (before + units / 2)) / connections;
    before += units;
    return { units, seconds, usualSeconds, netUs: (cpuUs[layer] ?? 0) - (background?.usPerSec ?? 0) * usualSeconds };
  });
  // Microseconds per connection are as many milliseconds per thousand.
  const value = sum(parts.map(({ netUs }) => netUs)) / connections / 1000;
  const total = (key: 'seconds' | 'usualSeconds') => sum(parts.map((part) => part[key]));
  const noise = background && noiseUs(background, total('seconds'), total('usualSeconds'));
  const costs = parts.filter(({ units }) => units > 0).map(({ netUs, units }) => netUs / units / 1000);
  const spread =
    costs.length >= MIN_RAMPS
      ? (studentT(CONFIDENCE, costs.length - 1) * deviationOf(costs)) / Math.sqrt(costs.length)
      : null;
  const known = [noise === null ? null : noise / connections / 1000, spread].filter((width) => width !== null);
  return { value, halfWidth: known.length > 0 ? Math.hypot(...known) : null };
}

function idlePercent(idle: CpuWindow[], background: Background | null): Measured | null {
  if (!background) return null;
  const { usPerSec, noise } = background;
  const percent = (us: number) => us / 10_000;
  if (!noise) return { value: percent(usPerSec), halfWidth: null };
  const resolution = RESOLUTION_US / sum(idle.map(({ seconds }) => seconds));
  const halfWidth = Math.hypot((noise.t * noise.deviation) / Math.sqrt(noise.parts), resolution);
  return { value: percent(usPerSec), halfWidth: percent(halfWidth) };
}

/** Null where the noise of either is not known: small differences of large figures are claimed with an interval only. */
function difference(from: Measured | null, what: Measured | null): Measured | null {
  if (!from || !what || from.halfWidth === null || what.halfWidth === null) return null;
  return { value: from.value - what.value, halfWidth: Math.hypot(from.halfWidth, what.halfWidth) };
}

/** The background is taken off each part; how much the parts still differ includes how much it varies. */
function perMessage(
  parts: CpuWindow[],
  background: Background | null,
  layer: string,
  minParts: number,
): Measured | null {
  const seconds = sum(parts.map((part) => part.seconds));
  const costs = parts.map((part) => ({
    us: (part.cpuUs[layer] ?? 0) - (background?.usPerSec ?? 0) * part.seconds,
    units: part.units,
  }));
  const cost = perUnit(costs, minParts);
  if (!cost) return null;
  const units = sum(parts.map((part) => part.units));
  if (cost.halfWidth !== null) {
    const offUs = (background && noiseUs(background, 0, seconds)) ?? 0;
    return { ...cost, halfWidth: Math.hypot(cost.halfWidth, offUs / units) };
  }
  // What varies besides the background is not known; that alone can be more than the figure.
  const leastUs = (background && noiseUs(background, seconds, seconds)) ?? 0;
  return leastUs > 0 && leastUs / units >= cost.value ? null : cost;
}

/** A ratio of two sums, and by how much the parts deviate from it: what one has too little of, the next one has too much. */
function perUnit(costs: { us: number; units: number }[], minParts: number): Measured | null {
  const units = sum(costs.map((part) => part.units));
  if (units <= 0) return null;
  const value = sum(costs.map(({ us }) => us)) / units;
  if (costs.filter((part) => part.units > 0).length < minParts) return { value, halfWidth: null };
  const parts = costs.length;
  const deviation = deviationOf(costs.map((part) => part.us - value * part.units));
  const us = studentT(CONFIDENCE, parts - 1) * deviation * Math.sqrt(parts);
  return { value, halfWidth: Math.hypot(us, RESOLUTION_US) / units };
}

/** A figure that is no larger than its noise is unknown. */
function known(measured: Measured | null): { value: number | null; interval: Interval } {
  if (!measured) return { value: null, interval: null };
  const { value, halfWidth } = measured;
  if (halfWidth === null) return { value: Math.max(0, value), interval: null };
  if (halfWidth >= value) return { value: null, interval: null };
  return { value, interval: { low95: value - halfWidth, high95: value + halfWidth } };
}

function deviationOf(values: number[]): number {
  const mean = sum(values) / values.length;
  return Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1));
}

/** Several windows as one. @returns undefined without windows */
export function wholeWindow(windows: CpuWindow[]): CpuWindow | undefined {
  if (windows.length === 0) return undefined;
  const layers = new Set(windows.flatMap(({ cpuUs }) => Object.keys(cpuUs)));
  return {
    seconds: sum(windows.map(({ seconds }) => seconds)),
    secondsAtMost: sum(windows.map(({ secondsAtMost }) => secondsAtMost)),
    units: sum(windows.map(({ units }) => units)),
    cpuUs: Object.fromEntries([...layers].map((layer) => [layer, sum(windows.map(({ cpuUs }) => cpuUs[layer] ?? 0))])),
  };
}
