/** The figures by which results are compared: the key of each in the result, and which direction is better. */
import type { Result } from '../../protocol/result/result.ts';
import { type QuantityName, quantityOf } from '../model/amount.ts';

export interface Described {
  /** Its key in the result document, with dots. */
  path: string;
  title: string;
  quantity: QuantityName;
  better: 'lower' | 'higher';
  /** Compared only where the figure at this path is missing. */
  insteadOf?: string;
  /** One of the few that decide: they have most of a comparison's tolerance for error, so their intervals are narrower. */
  primary?: true;
}

/** Counted rather than measured, so without a measurement error: a single run is enough to be worse than another. */
export interface CountedFigure extends Described {
  quantity: 'count' | 'share';
  /** @returns how many connections, copies or messages are missing, or too many; null where they were not counted */
  faults(result: Result): number | null;
}

interface MeasuredFigure extends Described {
  quantity: Exclude<QuantityName, CountedFigure['quantity']>;
}

export type Figure = CountedFigure | MeasuredFigure;

const slope = (layer: string, title: string): MeasuredFigure => ({
  path: `memory.perConnectionBytes.${layer}.slope`,
  title: `${title} per connection`,
  better: 'lower',
  quantity: 'kilobytes',
});

const time = (path: string, title: string): MeasuredFigure => ({
  path,
  title,
  better: 'lower',
  quantity: 'milliseconds',
});

const cpu = (layer: string, title: string): Figure[] => [
  {
    path: `cpu.${layer}.rampSecondsPerThousandConnects`,
    title: `${title} CPU per 1,000 connects`,
    better: 'lower',
    quantity: 'cpuSeconds',
    ...(layer === 'worker' && { primary: true }),
  },
  {
    path: `cpu.${layer}.idlePercent`,
    title: `${title} CPU while idle`,
    better: 'lower',
    quantity: 'percent',
  },
  {
    path: `cpu.${layer}.broadcastMicrosecondsPerMessage`,
    title: `${title} CPU per message`,
    better: 'lower',
    quantity: 'microseconds',
    ...(layer === 'worker' && { primary: true }),
  },
  {
    path: `cpu.${layer}.clientMicrosecondsPerMessage`,
    title: `${title} CPU per message of a client`,
    better: 'lower',
    quantity: 'microseconds',
  },
];

const perCopy = (key: string, title: string): Figure => ({
  path: `redis.${key}`,
  title,
  better: 'lower',
  quantity: 'bytes',
});

/** The headline of a run. */
const KEPT: Figure = {
  path: 'memory.perConnection.bytes',
  title: 'Memory per connection',
  better: 'lower',
  quantity: 'kilobytes',
  primary: true,
};
const WORKER_PSS = slope('workerPss', 'Workers PSS');

/**
 * The deployment's figures, without the generator's own. Each additional figure widens all intervals (see compare.ts), so
 * there are few: no capacity, which follows from the slope; no maximum, the noisiest figure of all; of Redis, which keeps
 * almost nothing per connection, only what the broadcasts cost; not the whole machine, which includes the generator and
 * any other program, and drifts over time as if it had a slope.
 */
export const FIGURES: Figure[] = [
  {
    ...{ path: 'connections.peak', title: 'Peak connections', better: 'higher', quantity: 'count' },
    faults: ({ connections: { target, peak } }) => Math.max(0, target - peak),
  },
  {
    ...{ path: 'connections.failed', title: 'Connections failed', better: 'lower', quantity: 'count' },
    faults: ({ connections: { failed } }) => failed,
  },
  {
    ...{ path: 'delivery.coverage', title: 'Delivered', better: 'higher', quantity: 'share' },
    faults: ({ delivery }) => delivery && delivery.expected - delivery.received,
  },
  {
    ...{ path: 'delivery.duplicates', title: 'Duplicate copies', better: 'lower', quantity: 'count' },
    faults: ({ delivery }) => delivery?.duplicates ?? null,
  },
  { path: 'connections.achievedRatePerSec', title: 'Connect rate', better: 'higher', quantity: 'perSecond' },
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
    better: 'lower',
    quantity: 'perSecond',
  },
  {
    ...{ path: 'fault.broadcasts.missed', title: 'Copies missed after the fault', better: 'lower', quantity: 'count' },
    faults: ({ fault }) => fault?.broadcasts?.missed ?? null,
  },
  {
    ...{ path: 'messages.answered', title: 'Messages acknowledged', better: 'higher', quantity: 'share' },
    faults: ({ messages }) => messages && messages.sent - messages.unasked - messages.acknowledged,
  },
  time('latency.oneWayMs.p50', 'One way p50'),
  { ...time('latency.oneWayMs.p99', 'One way p99'), primary: true },
  time('latency.completionMs.p50', 'Last receiver p50'),
  time('latency.roundTripHalfMs.underLoad.p50', 'Round trip ÷ 2 under load p50'),
  KEPT,
  WORKER_PSS,
  { ...slope('workerRss', 'Workers RSS'), insteadOf: WORKER_PSS.path },
  slope('workerHeapUsed', 'Workers V8 heap'),
  slope('nginxPss', 'nginx PSS'),
  ...cpu('worker', 'Workers'),
  ...cpu('nginx', 'nginx'),
  {
    path: 'redis.cpuMicrosecondsPerCopy',
    title: 'Redis CPU per message',
    better: 'lower',
    quantity: 'microseconds',
  },
  perCopy('inBytesPerCopy', 'Redis received per message'),
  perCopy('outBytesPerCopy', 'Redis sent per message'),
  { path: 'redis.usedMemoryBytes', title: 'Redis memory', better: 'lower', quantity: 'megabytes' },
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

export function isCounted({ quantity }: Described): boolean {
  return quantity === 'count' || quantity === 'share';
}

/** Relative accuracy of a measured figure: the calibration's bound for memory and rates. */
const ACCURACY_SHARE = 0.02;
/**
 * Absolute accuracy in the result's units, for small figures: bytes and times by the calibration, CPU by the kernel's
 * ticks of 10 ms.
 */
const ACCURACY: Partial<Record<QuantityName, number>> = {
  kilobytes: 128,
  megabytes: 128,
  bytes: 0.1,
  milliseconds: 1,
  cpuSeconds: 0.05,
  percent: 0.5,
  microseconds: 1,
};

/** @returns the accuracy of the measurement, in the figure's own unit; smaller differences mean nothing */
export function accuracyOf(figure: Figure, value: number): number {
  return isCounted(figure) ? 0 : Math.max(ACCURACY[figure.quantity] ?? 0, ACCURACY_SHARE * Math.abs(value));
}

/** @returns `Connect time p50, ms` */
export function titleOf({ title, quantity }: Described): string {
  const { unit } = quantityOf(quantity);
  return unit === '' ? title : `${title}, ${unit}`;
}
