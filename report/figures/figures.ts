/** The figures by which results are compared: the key of each in the result, and which direction is better. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer, KB, kilobytes, milliseconds, percentOf } from '../text/format.ts';

/** How a figure is measured and formatted. */
type Kind =
  | 'bytes'
  | 'fewBytes'
  | 'milliseconds'
  | 'seconds'
  | 'percent'
  | 'microseconds'
  | 'perSecond'
  | 'count'
  | 'share';

export interface Figure {
  /** Its key in the result document, with dots. */
  path: string;
  title: string;
  unit: string;
  better: 'lower' | 'higher';
  kind: Kind;
  /** Compared only where the figure at this path is missing. */
  insteadOf?: string;
  /** One of the few that decide: they have most of a comparison's tolerance for error, so their intervals are narrower. */
  primary?: true;
}

const slope = (layer: string, title: string): Figure => ({
  path: `memory.perConnectionBytes.${layer}.slope`,
  title: `${title} per connection`,
  unit: 'KB',
  better: 'lower',
  kind: 'bytes',
});

const time = (path: string, title: string): Figure => ({
  path,
  title,
  unit: 'ms',
  better: 'lower',
  kind: 'milliseconds',
});

const cpu = (layer: string, title: string): Figure[] => [
  {
    path: `cpu.${layer}.rampSecondsPerThousandConnects`,
    title: `${title} CPU per 1,000 connects`,
    unit: 's',
    better: 'lower',
    kind: 'seconds',
    ...(layer === 'worker' && { primary: true }),
  },
  {
    path: `cpu.${layer}.idlePercent`,
    title: `${title} CPU while idle`,
    unit: '%',
    better: 'lower',
    kind: 'percent',
  },
  {
    path: `cpu.${layer}.broadcastMicrosecondsPerMessage`,
    title: `${title} CPU per message`,
    unit: 'µs',
    better: 'lower',
    kind: 'microseconds',
    ...(layer === 'worker' && { primary: true }),
  },
  {
    path: `cpu.${layer}.clientMicrosecondsPerMessage`,
    title: `${title} CPU per message of a client`,
    unit: 'µs',
    better: 'lower',
    kind: 'microseconds',
  },
];

const perCopy = (key: string, title: string): Figure => ({
  path: `redis.${key}`,
  title,
  unit: 'bytes',
  better: 'lower',
  kind: 'fewBytes',
});

const WORKER_PSS: Figure = { ...slope('workerPss', 'Workers PSS'), primary: true };

/**
 * The deployment's figures, without the generator's own. Each additional figure widens all intervals (see compare.ts), so
 * there are few: no capacity, which follows from the slope; no maximum, the noisiest figure of all; of Redis, which keeps
 * almost nothing per connection, only what the broadcasts cost; not the whole machine, which includes the generator and
 * any other program, and drifts over time as if it had a slope.
 */
export const FIGURES: Figure[] = [
  { path: 'connections.peak', title: 'Peak connections', unit: '', better: 'higher', kind: 'count' },
  { path: 'connections.failed', title: 'Connections failed', unit: '', better: 'lower', kind: 'count' },
  { path: 'delivery.coverage', title: 'Coverage', unit: '', better: 'higher', kind: 'share' },
  { path: 'delivery.duplicates', title: 'Duplicate copies', unit: '', better: 'lower', kind: 'count' },
  { path: 'connections.achievedRatePerSec', title: 'Connect rate', unit: '/s', better: 'higher', kind: 'perSecond' },
  time('connections.connectMs.p50', 'Connect time p50'),
  { ...time('connections.connectMs.p99', 'Connect time p99'), primary: true },
  time('messages.ackMs.p50', 'Message to acknowledgement p50'),
  { ...time('messages.ackMs.p95', 'Message to acknowledgement p95'), primary: true },
  time('fault.backMs.p50', 'Half of the dropped connections back'),
  { ...time('fault.backMs.p99', '99 % of the dropped connections back'), primary: true },
  time('fault.backMs.all', 'All dropped connections back'),
  {
    path: 'fault.peakAttemptsPerSec',
    title: 'Peak attempts to come back',
    unit: '/s',
    better: 'lower',
    kind: 'perSecond',
  },
  { path: 'fault.broadcasts.missed', title: 'Copies missed after the fault', unit: '', better: 'lower', kind: 'count' },
  { path: 'messages.answered', title: 'Messages acknowledged', unit: '', better: 'higher', kind: 'share' },
  time('latency.oneWayMs.p50', 'One way p50'),
  { ...time('latency.oneWayMs.p99', 'One way p99'), primary: true },
  time('latency.completionMs.p50', 'Last receiver p50'),
  time('latency.roundTripHalfMs.underLoad.p50', 'Round trip ÷ 2 under load p50'),
  WORKER_PSS,
  { ...slope('workerRss', 'Workers RSS'), insteadOf: WORKER_PSS.path, primary: true },
  slope('workerHeapUsed', 'Workers V8 heap'),
  slope('nginxPss', 'nginx PSS'),
  ...cpu('worker', 'Workers'),
  ...cpu('nginx', 'nginx'),
  {
    path: 'redis.cpuMicrosecondsPerCopy',
    title: 'Redis CPU per message',
    unit: 'µs',
    better: 'lower',
    kind: 'microseconds',
  },
  perCopy('inBytesPerCopy', 'Redis received per message'),
  perCopy('outBytesPerCopy', 'Redis sent per message'),
  { path: 'redis.usedMemoryBytes', title: 'Redis memory', unit: 'KB', better: 'lower', kind: 'bytes' },
];

/** @returns null where it was not measured */
export function figureOf(result: Result, { path }: Figure): number | null {
  const value = valueAt(result, path);
  return typeof value === 'number' ? value : null;
}

/** @param path keys with dots between them */
export function valueAt(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], document);
}

/** Counted rather than measured, so without a measurement error. */
export function isCounted({ kind }: Figure): boolean {
  return kind === 'count' || kind === 'share';
}

/** Relative accuracy of a measured figure: the calibration's bound for memory and rates. */
const ACCURACY_SHARE = 0.02;
/**
 * Absolute accuracy in the result's units, for small figures: bytes and times by the calibration, CPU by the kernel's
 * ticks of 10 ms.
 */
const ACCURACY: Record<Kind, number> = {
  bytes: 128,
  fewBytes: 0.1,
  milliseconds: 1,
  seconds: 0.05,
  percent: 0.5,
  microseconds: 1,
  perSecond: 0,
  count: 0,
  share: 0,
};

/** @returns the accuracy of the measurement, in the figure's own unit; smaller differences mean nothing */
export function accuracyOf(figure: Figure, value: number): number {
  return isCounted(figure) ? 0 : Math.max(ACCURACY[figure.kind], ACCURACY_SHARE * Math.abs(value));
}

const FORMATS: Record<Kind, (value: number) => string> = {
  bytes: kilobytes,
  fewBytes: (value) => decimals(value, 1),
  milliseconds,
  seconds: (value) => decimals(value, 3),
  percent: (value) => decimals(value, 1),
  microseconds: (value) => decimals(value, 1),
  perSecond: (value) => decimals(value, 1),
  count: (value) => (Number.isInteger(value) ? integer(value) : decimals(value, 1)),
  share: (value) => percentOf(value, 1),
};

/** @returns the number in the figure's unit, without the unit's name */
export function formatFigure({ kind }: Figure, value: number): string {
  return FORMATS[kind](value);
}

/** A chart's axis of the figure: its unit, and the number in it. Shares are in percent. */
export function axisOf({ kind, unit }: Figure): { unit: string; scale(value: number): number } {
  if (kind === 'share') return { unit: '%', scale: (value) => 100 * value };
  return { unit, scale: (value) => (kind === 'bytes' ? value / KB : value) };
}
