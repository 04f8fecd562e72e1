/** Describes the memory that remains after connections close, with one sentence for each layer. */
import type { MemoryDrift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type DescribedLayers, layerFamily, layerTitle } from '../figures/layers.ts';
import {
  confirmedCauses,
  countProvenLeaks,
  driftsBesideWorkers,
  type LeakCauses,
  WORKER_FIGURES,
  workersDrift,
} from '../figures/memory-leaks.ts';
import { withUnit } from '../model/amount.ts';
import { decimalsText, integerText } from '../text/format.ts';
import { answerFigure, type ReportLine } from './line.ts';
import { memoryCodePlacesLine } from './memory-line.ts';

export const UNKNOWN_DRIFT = 'unknown, because it requires three readings';
const NAME = 'What connections leave behind';
const OF_WORKERS = `${NAME} in the workers`;
const TOO_SHORT =
  'what connections leave behind is unknown: that requires a longer load, with three readings after as many connections have closed as were open at once';

export function overTimeLines(result: Result): ReportLine[] {
  const { overTime: found } = result.memory;
  if (!found || result.absent.memory !== undefined) return [];
  const isUnknown = Object.values(found.drift).every(({ noLeakAbove }) => noLeakAbove === null);
  if (found.kind === 'load' && isUnknown) return [{ text: TOO_SHORT }];
  const workers = workersDrift(found);
  if (!workers) {
    const text = 'too few readings of the workers’ memory to tell whether they leak';
    return [{ text, figure: { name: NAME, value: '–', note: text } }, ...otherLines(result)];
  }
  const { layer, drift } = workers;
  const garbage = found.collected ? '' : ', garbage included';
  const answer = driftText(result, layer, 'per closed connection');
  const widerFigure = drift.leaks === false ? widerFigureText(result, found, layer) : '';
  const text = `${answer} (${layerTitle(result, layer)}${garbage})${widerFigure}`;
  const { perConnection, inTime } = confirmedCauses(layer, found);
  const size = inTime && !perConnection ? `${withUnit('size', drift.perSecond?.bytes ?? 0)}/s` : null;
  const none = `${found.collected ? 'no leak' : 'no growth'}${widerFigure && ` in ${layerTitle(result, layer)}`}`;
  const known = drift.leaks ? (size ?? drift.bytesPerConnection) : none;
  const name = drift.leaks || countProvenLeaks(result) === 0 ? NAME : OF_WORKERS;
  return [
    { text, figure: answerFigure(keyOf(layer), drift.leaks === null ? '–' : known, text, name) },
    // Packages and functions with remaining memory are listed only for a leak. Without a leak, they show only sampling
    // error.
    ...(drift.leaks ? memoryCodePlacesLine(result) : []),
    ...otherLines(result),
  ];
}

/**
 * Returns `; Workers RSS cannot tell below …` for the memory figure that covers most of a worker's memory. Empty if the
 * answer already uses that figure.
 */
function widerFigureText(result: Result, { drift }: OverTimeResult, answering: string): string {
  const whole = WORKER_FIGURES.find((id) => drift[id]);
  return whole === undefined || whole === answering ? '' : `; ${layerTitle(result, whole)} ${driftText(result, whole)}`;
}

/** Object counts that only the server can report. */
const OF_SERVER = ['workerRooms', 'workerNamespaces'];

/** Reports objects, such as rooms, that the server or the generator still counts after all connections have closed. */
function countLines({ memory, workers }: Result): ReportLine[] {
  const counts = memory.overTime?.counts ?? [];
  const areCounted = workers.length > 0 || counts.some(({ id }) => OF_SERVER.includes(id));
  const kept = counts.filter(({ isKept }) => isKept);
  // If the upper limit is below one object per connection, it is precise enough for a statement.
  const [less, unclear] = [true, false].map((isLess) =>
    counts.filter(({ isKept, high95 }) => !isKept && high95 < 1 === isLess),
  ) as [typeof counts, typeof counts];
  const left = kept.map(({ title, first, last }) => `${title} ${integerText(first)} to ${integerText(last)}`);
  const most = Math.max(0.01, ...less.map(({ high95 }) => high95));
  const titles = (of: typeof counts) => of.map(({ title }) => title).join(', ');
  const texts = [
    left.length > 0 && `still there after all connections closed: ${left.join(', ')}`,
    less.length > 0 && `at most ${decimalsText(most, 2)} left by each connection: ${titles(less)}`,
    unclear.length > 0 && `cannot tell below one for each connection: ${titles(unclear)}`,
    !areCounted && 'not counted: sockets, rooms and namespaces that the server keeps (requires `instrument(io)`)',
  ].filter(Boolean);
  return texts.length > 0 ? [{ text: texts.join('; ') }] : [];
}

/**
 * Returns one line for each leaking layer other than the workers, one line for all layers without a leak, and one line
 * for all layers whose readings allow no conclusion.
 */
function otherLines(result: Result): ReportLine[] {
  const all = driftsBesideWorkers(result);
  const leaking = all.filter(({ drift }) => drift.leaks);
  const [without, unclear] = [false, null].map((leaks) =>
    all
      .filter(({ drift }) => drift.leaks === leaks)
      .map(({ layer }) => `${layerTitle(result, layer)} ${driftText(result, layer)}`),
  ) as [string[], string[]];
  return [
    ...leaking.map(({ layer, drift }) => {
      const text = `${layerTitle(result, layer)} ${driftText(result, layer)}`;
      return {
        text,
        figure: answerFigure(
          keyOf(layer),
          drift.bytesPerConnection,
          text,
          `${layerTitle(result, layer)} per closed connection`,
        ),
      };
    }),
    ...[without, unclear].flatMap((texts) => (texts.length > 0 ? [{ text: texts.join('; ') }] : [])),
    ...countLines(result),
  ];
}

/**
 * Describes the change of a layer's memory over time. Without a forced garbage collection before each reading, a rise
 * can be garbage. Collections are never forced in the generator.
 *
 * @returns `leaks 20.1 KB per connection (19.8 KB to 20.4 KB)`, `leaks 100 KB/s (98 KB/s to 103 KB/s) regardless of
 * connections`, `no leak above 64 B per connection`, or `cannot tell below 81.6 KB per connection; waves of 280
 * connections would show 11.7 KB`
 */
export function driftText(result: DescribedLayers, layer: string, each = 'per connection'): string {
  const { overTime: found } = result.memory;
  const drift = found?.drift[layer];
  if (!drift) return 'not measured';
  const { leaks, low95, high95, noLeakAbove, conclusiveRun } = drift;
  if (low95 === null || high95 === null || noLeakAbove === null) return UNKNOWN_DRIFT;
  if (leaks === null)
    return conclusiveRun
      ? `cannot tell below ${size(noLeakAbove)} ${each}; ${sufficientLoad(found, conclusiveRun)}`
      : UNKNOWN_DRIFT;
  return leaks
    ? riseText(result, layer, found, { ...drift, low95, high95 }, each)
    : boundText(result, layer, found, `${size(noLeakAbove)} ${each}`);
}

function sufficientLoad(
  { kind }: OverTimeResult,
  { connections, bytes }: NonNullable<MemoryDrift['conclusiveRun']>,
): string {
  const count = integerText(connections);
  return `${kind === 'waves' ? `waves of ${count} connections` : `${count} connections that leave`} would show ${size(bytes)}`;
}

function boundText(result: DescribedLayers, layer: string, found: OverTimeResult, bound: string): string {
  const { perSecond } = found.drift[layer] as MemoryDrift;
  const bounds = [bound, ...(perSecond ? [`${size(perSecond.noLeakAbove)}/s`] : [])];
  return `no ${isCollected(result, layer, found) ? 'leak' : 'growth'} above ${bounds.join(' or ')}${endedGrowthText(found.drift[layer] as MemoryDrift)}`;
}

type Rise = MemoryDrift & { low95: number; high95: number };

function riseText(result: DescribedLayers, layer: string, found: OverTimeResult, drift: Rise, per: string): string {
  const { bytesPerConnection, low95, high95, perSecond, bytesPerHour } = drift;
  const { perConnection, inTime, onlyPages } = confirmedCauses(layer, found);
  const verb = isCollected(result, layer, found) && !onlyPages ? 'leaks' : 'grows by';
  const pages = onlyPages ? `; ${pagesText(onlyPages, low95, found)}` : '';
  const each = `${size(bytesPerConnection)} ${per} (${size(low95)} to ${size(high95)})`;
  if (!perConnection && !inTime)
    return `${verb} ${each}, or ${size(bytesPerHour / 3600)}/s regardless of connections: more waves of different sizes and rests would separate the two${pages}${endedGrowthText(drift)}`;
  const { bytes = 0, low95: low = 0, high95: high = 0 } = perSecond ?? {};
  const timed = `${size(bytes)}/s (${size(low)}/s to ${size(high)}/s) regardless of connections`;
  return `${verb} ${[...(perConnection ? [each] : []), ...(inTime ? [timed] : [])].join(' and ')}${pages}${endedGrowthText(drift)}`;
}

/** @param leastBytes lower end of the 95 % interval of the growth of RSS per connection */
function pagesText(kept: NonNullable<LeakCauses['onlyPages']>, leastBytes: number, found: OverTimeResult): string {
  if ('excluded' in kept) return 'heap and external memory do not, so it may be free pages: a longer run would show';
  const needed = sufficientLoad(found, { connections: kept.connections, bytes: leastBytes });
  return `heap and external memory cannot tell below ${size(kept.cannotTellBelow)}, so it may be free pages: ${needed}`;
}

function isCollected({ memory }: DescribedLayers, layer: string, { collected }: OverTimeResult): boolean {
  const ofGenerator = memory.layers.find(({ id }) => id === layer)?.belongsTo === 'generator';
  return !ofGenerator && (collected || layerFamily(layer) !== 'worker');
}

function endedGrowthText({ sinceSeconds }: MemoryDrift): string {
  return sinceSeconds === null ? '' : `; grew before ${integerText(sinceSeconds)} s and stopped, as a cache does`;
}

const keyOf = (layer: string) => `memory.overTime.drift.${layer}.bytesPerConnection`;

const size = (bytes: number) => withUnit('size', bytes);
