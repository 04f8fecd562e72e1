/**
 * Builds the CPU figures: CPU time per connection and per message, without the CPU time that the deployment uses when
 * idle.
 */
import { MIN_BROADCAST_PARTS } from '../../../protocol/result/machine-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Interval } from '../../../protocol/result/shared-schemas.ts';
import { studentT } from '../../../report/statistics/student.ts';
import type { CpuWindow, RampWindow } from '../../run/measurements/measured-windows.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { Layer } from '../../samplers/index.ts';
import { impossibleCpu, windowsInTimeOrder } from '../invariants/cpu-invariants.ts';
import { sum } from '../sums.ts';

type Cpu = Result['cpu'][string];

const CONFIDENCE = 0.95;
/** Length of the kernel's CPU tick, in microseconds. */
const RESOLUTION_US = 10_000;
/**
 * Minimum number of parts of a measurement window for a confidence interval. Two parts are too few to estimate the
 * spread.
 */
const MIN_PARTS = 3;
/**
 * Maximum share of failed connection attempts. If more attempts fail, the CPU time of a connect has only an upper
 * limit.
 */
const MAX_FAILED_SHARE = 0.05;

/** A measured value with its error. If the noise is unknown, `halfWidth` is null. */
interface Measured {
  value: number;
  halfWidth: number | null;
}

/** A CPU figure of the result with its interval. Unknown values are null. */
interface Figure {
  value: number | null;
  interval: Interval;
}

const UNKNOWN: Figure = { value: null, interval: null };

/** CPU use of a layer while its connections are idle. */
interface Background {
  usPerSec: number;
  seconds: number;
  /** Standard deviation of the CPU use between the parts of the window; null if there is only one part. */
  noise: { deviation: number; parts: number; partSeconds: number; t: number } | null;
}

/**
 * Returns the CPU figures of each layer whose CPU time is known.
 * @param incomplete layers with processes that could not be read
 */
export function cpuFigures(
  measurements: Measurements,
  layers: readonly Layer[],
  incomplete: ReadonlySet<string> = new Set(),
): Result['cpu'] {
  const { sharedHost, cpu } = measurements;
  const wrong = impossibleCpu(measurements).flatMap(({ figures }) => figures);
  const seen = new Set(
    windowsInTimeOrder(cpu)
      .flatMap((window) => Object.keys(window.cpuUs))
      .filter((id) => !wrong.includes(id)),
  );
  // If the workers run on another machine, the CPU time of this machine is the generator's only.
  const own = layers.filter(({ id, belongsTo }) => seen.has(id) && (sharedHost || belongsTo !== 'machine'));
  return Object.fromEntries(
    own.map(({ id }) => [id, { ...layerFigures(id, cpu), ...(incomplete.has(id) && { isAtLeast: true }) }]),
  );
}

function layerFigures(layer: string, measured: Measurements['cpu']): Cpu {
  const { unloaded, ramps, idle, messages, broadcasts } = complete(measured, layer);
  // Connections send messages at all times, also during the broadcasts, so the CPU time of messages is part of the
  // background.
  const held = messages.length > 0 ? messages : idle;
  const background = backgroundOf(held, layer);
  const ramp = perThousandConnects(ramps, { unloaded, held }, layer);
  const before = backgroundOf(unloaded, layer);
  // CPU time of the application's timers is measured in the idle time. If there is no idle time, it is measured before
  // the first connection.
  const quiet = idle.length > 0 || messages.length === 0 ? idle : unloaded;
  const withoutMessages = backgroundOf(quiet, layer);
  const waits = idlePercent(quiet, withoutMessages);
  const waiting = known(waits);
  const added = known(messages.length > 0 ? null : difference(waits, idlePercent(unloaded, before)));
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
 * Removes CPU windows that lack the layer's CPU time, together with all windows of the same kind, because a sum over
 * the other windows would be too low. If the last window of the run lacks the CPU time, removes all windows, because
 * the layer's source may have been wrong before.
 */
function complete(cpu: Measurements['cpu'], layer: string): Measurements['cpu'] {
  const has = ({ cpuUs }: CpuWindow) => layer in cpuUs;
  const isRead = windowsInTimeOrder(cpu).slice(-1).every(has);
  const of = <W extends CpuWindow>(windows: W[]) => (isRead && windows.every(has) ? windows : []);
  const { unloaded, ramps, idle, messages, broadcasts } = cpu;
  // The background must be known, because it is subtracted.
  const isKnown = [...idle, ...messages].every(has);
  return {
    unloaded: of(unloaded),
    ramps: isKnown && ramps.every(({ parts }) => parts.every(has)) ? of(ramps) : [],
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
  if (parts < 2) return { usPerSec, seconds, noise: null };
  const deviation = deviationOf(idle.map(({ cpuUs, seconds }) => (cpuUs[layer] ?? 0) / seconds));
  return {
    ...{ usPerSec, seconds },
    noise: { deviation, parts, partSeconds: seconds / parts, t: studentT(CONFIDENCE, parts - 1) },
  };
}

/**
 * Returns the possible error of the background's mean over a time.
 * @param usPerSecond standard deviation within a second, if another window shows a larger deviation than the background
 */
function meanErrorUs({ noise, seconds: over }: Background, seconds: number, usPerSecond = 0): number | null {
  if (!noise) return null;
  const { deviation, partSeconds, t } = noise;
  const us = (t * seconds * Math.max(deviation * Math.sqrt(partSeconds), usPerSecond)) / Math.sqrt(over);
  return Math.hypot(us, RESOLUTION_US);
}

/**
 * Returns the possible error of the background in a window without parts: the background varies, and its mean has an
 * error.
 */
function noiseUs(background: Background, seconds: number): number | null {
  const { noise } = background;
  const meanUs = meanErrorUs(background, seconds);
  if (!noise || meanUs === null) return null;
  return Math.hypot(meanUs, noise.t * noise.deviation * Math.sqrt(noise.partSeconds * seconds));
}

/**
 * Returns the CPU time of connects, less the background (CPU use while idle). The background is measured before the
 * first connection and in the hold. In between, it is assumed to change in proportion to the open connections.
 * @returns an interval without a value if only a limit is known
 */
function perThousandConnects(
  ramps: RampWindow[],
  background: { unloaded: CpuWindow[]; held: CpuWindow[] },
  layer: string,
): Figure {
  const parts = ramps.flatMap((ramp) => ramp.parts);
  const held = mean(background.held.map((window) => window.held));
  // A hold without connections shows the same background as the time before the first connection.
  const before = backgroundOf(held > 0 ? background.unloaded : [...background.unloaded, ...background.held], layer);
  const after = held > 0 ? backgroundOf(background.held, layer) : before;
  const rates = { before: before?.usPerSec ?? 0, after: after?.usPerSec ?? 0 };
  const costs = parts.map(({ cpuUs, seconds, units, held: now }) => {
    const loaded = held > 0 ? seconds * (now / held) : 0;
    const us = (cpuUs[layer] ?? 0) - rates.before * (seconds - loaded) - rates.after * loaded;
    return { us, units, seconds, loaded };
  });
  const cost = perUnit(costs, MIN_PARTS);
  if (!cost) return UNKNOWN;
  const total = (key: 'units' | 'seconds' | 'loaded') => sum(costs.map((part) => part[key]));
  const [opened, seconds, loaded] = [total('units'), total('seconds'), total('loaded')];
  // Converts microseconds per connection to seconds per thousand connections.
  const perThousand = (us: number) => us / opened / 1000;
  const value = perThousand(cost.value * opened);
  if (!before || !after) return value > 0 ? { value, interval: { low95: 0, high95: value } } : UNKNOWN;
  // The background was measured for a short time, so it may lack bursts of CPU use that occurred in the ramps.
  const residuals = costs.map(({ us, units }) => us - cost.value * units);
  const beyondTicks = costs.length < MIN_PARTS ? 0 : Math.max(0, deviationOf(residuals) ** 2 - RESOLUTION_US ** 2 / 6);
  const burstUs = Math.sqrt((beyondTicks * costs.length) / seconds);
  const errors = [
    cost.halfWidth === null ? noiseUs(after, seconds) : cost.halfWidth * opened,
    meanErrorUs(before, Math.abs(seconds - loaded), burstUs),
    meanErrorUs(after, Math.abs(loaded), burstUs),
  ].filter((us) => us !== null);
  if (errors.length === 0) return { value: Math.max(0, value), interval: null };
  const halfWidth = perThousand(Math.hypot(...errors, RESOLUTION_US));
  // Connects cannot have used more CPU time than the layer used during the ramps.
  const usedUs = sum(parts.map(({ cpuUs }) => cpuUs[layer] ?? 0)) + RESOLUTION_US;
  const high95 = Math.min(value + halfWidth, perThousand(usedUs));
  if (high95 <= 0) return UNKNOWN;
  // A failed attempt uses between no CPU time and as much as a successful attempt.
  const failed = sum(ramps.map(({ failedAttempts }) => failedAttempts));
  const least = (value * opened) / (opened + failed) - halfWidth;
  const isBound = least <= 0 || failed > MAX_FAILED_SHARE * opened;
  return { value: isBound ? null : value, interval: { low95: isBound ? 0 : least, high95 } };
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

/**
 * Subtracts two measured values.
 * @returns null if the noise of either value is unknown, because the difference could then be noise only
 */
function difference(from: Measured | null, what: Measured | null): Measured | null {
  if (!from || !what || from.halfWidth === null || what.halfWidth === null) return null;
  return { value: from.value - what.value, halfWidth: Math.hypot(from.halfWidth, what.halfWidth) };
}

/**
 * Returns the CPU time per message, less the background (CPU use while idle). The spread of the parts includes the
 * variation of the background.
 */
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
    const offUs = (background && meanErrorUs(background, seconds)) ?? 0;
    return { ...cost, halfWidth: Math.hypot(cost.halfWidth, offUs / units) };
  }
  // Without an interval, a figure below the variation of the background is unreliable.
  const leastUs = (background && noiseUs(background, seconds)) ?? 0;
  return leastUs > 0 && leastUs / units >= cost.value ? null : cost;
}

/**
 * Returns the CPU time per connection or message, with its error from the spread of the parts. The errors of
 * neighbouring parts partly cancel each other: CPU time that one part lacks is in the next part.
 */
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

/** Returns a measured value as a figure. The figure is unknown if it is not larger than its noise. */
function known(measured: Measured | null): Figure {
  if (!measured) return UNKNOWN;
  const { value, halfWidth } = measured;
  if (halfWidth === null) return { value: Math.max(0, value), interval: null };
  if (halfWidth >= value) return UNKNOWN;
  return { value, interval: { low95: value - halfWidth, high95: value + halfWidth } };
}

function mean(values: number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function deviationOf(values: number[]): number {
  const center = mean(values);
  return Math.sqrt(sum(values.map((value) => (value - center) ** 2)) / (values.length - 1));
}

/**
 * Combines several windows into one window.
 * @returns undefined without windows
 */
export function mergeCpuWindows(windows: CpuWindow[]): CpuWindow | undefined {
  if (windows.length === 0) return undefined;
  const layers = new Set(windows.flatMap(({ cpuUs }) => Object.keys(cpuUs)));
  return {
    seconds: sum(windows.map(({ seconds }) => seconds)),
    secondsAtMost: sum(windows.map(({ secondsAtMost }) => secondsAtMost)),
    units: sum(windows.map(({ units }) => units)),
    held: mean(windows.map(({ held }) => held)),
    cpuUs: Object.fromEntries([...layers].map((layer) => [layer, sum(windows.map(({ cpuUs }) => cpuUs[layer] ?? 0))])),
  };
}
