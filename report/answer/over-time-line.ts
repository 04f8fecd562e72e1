/** What connections leave behind, in a sentence. */
import type { Drift, OverTimeResult } from '../../protocol/result/over-time.ts';
import type { Result } from '../../protocol/result/result.ts';
import { familyOf, layerTitle } from '../figures/layers.ts';
import { amount, withUnit } from '../model/amount.ts';
import { integer } from '../text/format.ts';
import type { Line } from './line.ts';

export const UNKNOWN = 'not known: that takes three readings';
/** What a worker keeps, without the pages that its allocators hold in reserve. */
const KEPT = ['workerHeapUsed', 'workerExternal'];
export const ANSWERING = ['workerRss', 'workerWorkingSet', ...KEPT];

export function overTimeLines(result: Result): Line[] {
  const { overTime: found } = result.memory;
  if (!found || result.absent.memory !== undefined) return [];
  const name = 'What connections leave behind';
  const workers = workersDrift(found);
  if (!workers) {
    const text = 'too few readings of the workers’ memory to tell whether they leak';
    return [{ text, figure: { name, value: '–', note: text } }];
  }
  const { layer, drift } = workers;
  const garbage = found.collected ? '' : ', garbage included';
  const answer = driftText(result, layer);
  const text = `${answer.replace('per connection', 'per connection that came and went')} (${layerTitle(result, layer)}${garbage})`;
  if (drift.leaks === null) return [{ text, figure: { name, value: '–', note: text } }];
  const none = found.collected ? 'no leak' : 'no growth';
  const { perConnection, inTime } = confirmedCauses(layer, found);
  const size = inTime && !perConnection ? `${withUnit('size', drift.perSecond?.bytes ?? 0)}/s` : null;
  const value = drift.leaks ? (size ?? amount('size', drift.bytesPerConnection)) : none;
  return [{ text, figure: { name, value, note: text } }];
}

/** Which of the two causes a rise has; neither where the readings cannot tell. */
function causes({ leaks, low95, perSecond }: Drift): { perConnection: boolean; inTime: boolean } {
  const isTold = leaks === true && perSecond !== null;
  return { perConnection: isTold && (low95 ?? 0) > 0, inTime: isTold && perSecond.low95 > 0 };
}

/**
 * Pages of a worker also grow because V8 compiles, or because its allocators hold free ones: only what heap or external memory
 * show as well is a leak by this cause.
 */
function confirmedCauses(layer: string, found: OverTimeResult): ReturnType<typeof causes> & { onlyPages: boolean } {
  const own = causes(found.drift[layer] as Drift);
  const kept = familyOf(layer) === 'worker' && !KEPT.includes(layer) ? KEPT.flatMap((id) => found.drift[id] ?? []) : [];
  if (kept.length === 0) return { ...own, onlyPages: false };
  if (kept.every(({ leaks }) => leaks === false)) return { ...own, onlyPages: true };
  const shown = kept.filter(({ leaks }) => leaks).map(causes);
  const perConnection = own.perConnection && shown.some((one) => one.perConnection);
  const inTime = own.inTime && shown.some((one) => one.inTime);
  return perConnection || inTime ? { perConnection, inTime, onlyPages: false } : { ...own, onlyPages: false };
}

/**
 * Nobody collects the garbage of the generator, nor, in some runs, that of the workers: what grows may be garbage, and no leak.
 * @returns `leaks 20.1 KB per connection (19.8 KB to 20.4 KB)`, `leaks 100 KB/s (98 KB/s to 103 KB/s), whoever connects`, or `no
 * leak above 64 B per connection`
 */
export function driftText(result: Result, layer: string): string {
  const { overTime: found, layers } = result.memory;
  const drift = found?.drift[layer];
  if (!drift) return 'not measured';
  const { leaks, bytesPerConnection, low95, high95, noLeakAbove, perSecond, sinceSeconds } = drift;
  if (leaks === null || low95 === null || high95 === null || noLeakAbove === null) return UNKNOWN;
  const ofGenerator = layers.find(({ id }) => id === layer)?.belongsTo === 'generator';
  const collected = !ofGenerator && (found.collected || familyOf(layer) !== 'worker');
  const size = (bytes: number) => withUnit('size', bytes);
  const since = sinceSeconds === null ? '' : `; grew before ${integer(sinceSeconds)} s and stopped, as a cache does`;
  if (!leaks) {
    const bounds = [`${size(noLeakAbove)} per connection`, ...(perSecond ? [`${size(perSecond.noLeakAbove)}/s`] : [])];
    return `no ${collected ? 'leak' : 'growth'} above ${bounds.join(' or ')}${since}`;
  }
  const { perConnection, inTime, onlyPages } = confirmedCauses(layer, found);
  const verb = collected && !onlyPages ? 'leaks' : 'grows by';
  const pages = onlyPages ? '; heap and external memory do not, so it may be free pages: a longer run would show' : '';
  const each = `${size(bytesPerConnection)} per connection (${size(low95)} to ${size(high95)})`;
  if (!perConnection && !inTime) {
    const { bytesPerHour } = drift;
    return `${verb} ${each}, or ${size(bytesPerHour / 3600)}/s regardless of connections: more waves, of different sizes and rests, would show which${pages}${since}`;
  }
  const { bytes = 0, low95: low = 0, high95: high = 0 } = perSecond ?? {};
  const timed = `${size(bytes)}/s (${size(low)}/s to ${size(high)}/s) whoever connects`;
  return `${verb} ${[...(perConnection ? [each] : []), ...(inTime ? [timed] : [])].join(' and ')}${pages}${since}`;
}

/** @returns the workers’ leak if any of their figures shows one, else the least that would have shown in all their memory */
function workersDrift({ drift }: OverTimeResult): { layer: string; drift: Drift } | null {
  const found = ANSWERING.flatMap((layer) => (drift[layer] ? [{ layer, drift: drift[layer] }] : []));
  return found.find(({ drift: one }) => one.leaks) ?? found[0] ?? null;
}
