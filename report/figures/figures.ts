/** The figures by which results are compared: the key of each in the result, and which direction is better. */
import type { PerConnection, Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type QuantityName, quantityOf } from '../model/amount.ts';
import { total } from '../text/format.ts';
import { invalidatedBy } from './invalidated.ts';
import { disturbanceOf } from './others.ts';

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

type Extra = Partial<Pick<Described, 'better' | 'insteadOf' | 'primary'>>;

const DECIDES: Extra = { primary: true };

/** Lower is better, unless it says otherwise. */
function measured(path: string, title: string, quantity: MeasuredFigure['quantity'], extra: Extra = {}): Figure {
  return { path, title, quantity, better: 'lower', ...extra };
}

function counted(path: string, title: string, faults: CountedFigure['faults']): Figure {
  return { path, title, quantity: 'count', better: 'lower', faults };
}

/** Of all that are to be. */
function reached(path: string, title: string, quantity: 'count' | 'share', faults: CountedFigure['faults']): Figure {
  return { path, title, quantity, better: 'higher', faults };
}

function missing(target: number, there: number | null): number | null {
  return there === null ? null : Math.max(0, target - there);
}

function slope(layer: string, title: string, extra?: Extra): Figure {
  return measured(`memory.perConnectionBytes.${layer}.slope`, `${title} per connection`, 'kilobytes', extra);
}

function time(path: string, title: string, extra?: Extra): Figure {
  return measured(path, title, 'milliseconds', extra);
}

function cpu(layer: string, title: string, extra?: Extra): Figure[] {
  return [
    measured(`cpu.${layer}.rampSecondsPerThousandConnects`, `${title} CPU per 1,000 connects`, 'cpuSeconds', extra),
    measured(`cpu.${layer}.idlePercent`, `${title} CPU while idle`, 'percent'),
    measured(`cpu.${layer}.broadcastMicrosecondsPerMessage`, `${title} CPU per message`, 'microseconds', extra),
    measured(`cpu.${layer}.clientMicrosecondsPerMessage`, `${title} CPU per message of a client`, 'microseconds'),
  ];
}

/**
 * The deployment's figures, without the generator's own. Each additional figure widens all intervals (see compare.ts), so
 * there are few: no capacity, which follows from the slope; no maximum, the noisiest figure of all; of Redis, which keeps
 * almost nothing per connection, only what the broadcasts cost; not the whole machine, which includes the generator and
 * any other program, and drifts over time as if it had a slope.
 */
export const FIGURES: Figure[] = [
  reached('connections.peak', 'Peak connections', 'count', ({ connections: { target, peak } }) =>
    missing(target, peak),
  ),
  reached('connections.held', 'Connections held', 'count', ({ connections: { target, held } }) =>
    missing(target, held),
  ),
  counted('connections.failed', 'Connections failed', ({ connections }) => connections.failed),
  counted('connections.lost', 'Connections lost', ({ connections }) => total(connections.lost)),
  reached(
    'delivery.coverage',
    'Delivered',
    'share',
    ({ delivery }) => delivery && delivery.expected - delivery.received,
  ),
  counted('delivery.duplicates', 'Duplicate copies', ({ delivery }) => delivery?.duplicates ?? null),
  measured('connections.achievedRatePerSec', 'Connect rate', 'perSecond', { better: 'higher' }),
  time('connections.connectMs.p50', 'Connect time p50'),
  time('connections.connectMs.p99', 'Connect time p99', DECIDES),
  time('messages.ackMs.p50', 'Message to acknowledgement p50'),
  time('messages.ackMs.p95', 'Message to acknowledgement p95', DECIDES),
  time('fault.backMs.p50', 'Half of the dropped connections back'),
  time('fault.backMs.p99', '99 % of the dropped connections back', DECIDES),
  time('fault.backMs.all', 'All dropped connections back'),
  measured('fault.peakAttemptsPerSec', 'Peak attempts to come back', 'perSecond'),
  counted('fault.broadcasts.missed', 'Copies missed after the fault', ({ fault }) => fault?.broadcasts?.missed ?? null),
  reached(
    'messages.answered',
    'Messages acknowledged',
    'share',
    ({ messages }) => messages && messages.sent - messages.unasked - messages.acknowledged,
  ),
  time('latency.oneWayMs.p50', 'One way p50'),
  time('latency.oneWayMs.p99', 'One way p99', DECIDES),
  time('latency.completionMs.p50', 'Last receiver p50'),
  time('latency.roundTripHalfMs.underLoad.p50', 'Round trip ÷ 2 under load p50'),
  // The headline of a run.
  measured('memory.perConnection.bytes', 'Memory per connection', 'kilobytes', DECIDES),
  slope('workerPss', 'Workers PSS'),
  slope('workerRss', 'Workers RSS', { insteadOf: 'memory.perConnectionBytes.workerPss.slope' }),
  slope('workerHeapUsed', 'Workers V8 heap'),
  slope('nginxPss', 'nginx PSS'),
  ...cpu('worker', 'Workers', DECIDES),
  ...cpu('nginx', 'nginx'),
  measured('redis.cpuMicrosecondsPerCopy', 'Redis CPU per message', 'microseconds'),
  measured('redis.inBytesPerCopy', 'Redis received per message', 'bytes'),
  measured('redis.outBytesPerCopy', 'Redis sent per message', 'bytes'),
  measured('redis.usedMemoryBytes', 'Redis memory', 'megabytes'),
];

/** What waits for a CPU, and what CPU work takes; no count changes, and no memory, only because others are busy. */
const DISTURBED: QuantityName[] = ['milliseconds', 'perSecond', 'cpuSeconds', 'percent', 'microseconds'];

/** @returns null where it is unknown, not of the system alone, or invalidated by a finding of its own run */
export function figureOf(result: Result, figure: Figure): number | null {
  if (DISTURBED.includes(figure.quantity) && disturbanceOf(result)) return null;
  return invalidatedBy(result, figure.path).length > 0 ? null : measuredValue(result, figure);
}

/** @returns the codes of the run's findings that invalidate a figure it has measured */
export function invalidationsOf(result: Result, figure: Figure): string[] {
  return measuredValue(result, figure) === null ? [] : invalidatedBy(result, figure.path);
}

function measuredValue(result: Result, { path, quantity }: Figure): number | null {
  const found = valueAt(result, path);
  // By cause.
  const isCounts = quantity === 'count' && typeof found === 'object' && found !== null;
  return isCounts ? total(found as Record<string, number>) : knownAt(result, path);
}

/** @returns null where it was not measured, and of memory where a part is missing, or something spoils the line */
export function knownAt(result: Result, path: string): number | null {
  const value = valueAt(result, path);
  const cost = (valueAt(result, path.replace(/\.[^.]*$/, '')) ?? {}) as Partial<PerConnection & Slope>;
  const { isAtLeast, parts = [] } = cost;
  const isSpoiled = isAtLeast === true || [cost, ...parts].some(({ doubt = 'curved' }) => doubt !== 'curved');
  return typeof value !== 'number' || isSpoiled ? null : value;
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
export function accuracyOf(figure: Described, value: number): number {
  return isCounted(figure) ? 0 : Math.max(ACCURACY[figure.quantity] ?? 0, ACCURACY_SHARE * Math.abs(value));
}

/** @returns `Connect time p50, ms` */
export function titleOf({ title, quantity }: Described): string {
  const { unit } = quantityOf(quantity);
  return unit === '' ? title : `${title}, ${unit}`;
}
