import type { Result } from '../../protocol/result/result.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { isConclusiveCost } from '../figures/per-connection.ts';
import { type CodePlaces, codePlacesOf } from '../figures/places.ts';
import { numberText, withUnit } from '../model/amount.ts';
import { COST_KEY, costAmount, costNote, costText } from './cost.ts';
import { answerFigure, type ReportLine } from './line.ts';

const TOO_FEW = 'requires readings at two or more numbers of connections';

/** Reports the memory per connection. A run with a planned fault has too few plateaus for it. */
export function memoryLines(result: Result): ReportLine[] {
  const { memory: found, absent, fault, run } = result;
  const cost = absent.memory === undefined ? found.perConnection : null;
  if (fault) return [];
  if (cost) {
    const inService = isConclusiveCost(cost) && cost.inService !== null && withUnit('kilobytes', cost.inService);
    const needed = inService && `${inService} in service, with garbage and buffers`;
    const note = [costNote(cost, found.collected), needed].filter(Boolean).join('; ');
    return [
      { text: costText(cost, found.collected, result), figure: answerFigure(COST_KEY, costAmount(cost, result), note) },
      ...memoryCodePlacesLine(result),
    ];
  }
  const layer = mainWorkerLayer(found.perConnectionBytes);
  const why = absent.memory ?? found.absent[layer] ?? (run.complete ? TOO_FEW : `the run ended early: ${TOO_FEW}`);
  return [{ text: null, figure: answerFigure(COST_KEY, null, why) }];
}

/** Maximum number of packages listed by name. */
const MAX_PACKAGES = 5;
/** Memory that belongs to no known package is not listed below this share, because it is within the sampling error. */
const LEAST_UNATTRIBUTED = 0.05;

/** Returns, for example, `of the 18.9 KB that V8 counts per connection: application 6.9 (server.mjs:11 5.8), Node 4.0, others 3.2`. */
export function memoryCodePlacesLine({ memory }: Pick<Result, 'memory'>): ReportLine[] {
  const by = memory.places?.leftBehind ? 'of each closed connection' : 'per connection';
  return codePlacesOf({ memory }).map((places) => ({
    text: `of the ${withUnit(places.quantity, places.together)} that V8 counts ${by}: ${parts(places)}`,
  }));
}

/**
 * Returns, for example, `worker CPU by place, profiled: of 1.90 ms per connect: engine.io 0.51, …; of 14.1 µs per copy:
 * …`.
 */
export function cpuCodePlacesLine({ cpuByPlace, ...result }: Pick<Result, 'memory' | 'cpuByPlace'>): ReportLine[] {
  const all = codePlacesOf({ memory: { ...result.memory, places: undefined }, cpuByPlace });
  const texts = all.map((one) => `of ${withUnit(one.quantity, one.together)} per ${one.unit}: ${parts(one)}`);
  return texts.length === 0 ? [] : [{ text: `worker CPU by place, profiled: ${texts.join('; ')}` }];
}

/**
 * Lists packages whose values add up to the whole. The part that the profile could not attribute to a package is listed
 * last.
 */
function parts({ packages, functions, together, unattributed, quantity }: CodePlaces): string {
  const text = (value: number) => numberText(quantity, value);
  const shown = packages.slice(0, MAX_PACKAGES).filter(({ value }) => value > 0);
  const isAttributed = Math.abs(unattributed) < LEAST_UNATTRIBUTED * together;
  const rest = isAttributed ? [] : [`not attributed ${text(unattributed)}`];
  const others = together - shown.reduce((sum, { value }) => sum + value, 0) - (isAttributed ? 0 : unattributed);
  const texts = shown.map(({ name, value }) => {
    const first = name === 'application' ? functions.find((one) => one.package === name) : undefined;
    return `${name} ${text(value)}${first ? ` (${first.place} ${text(first.value)})` : ''}`;
  });
  return [...texts, `others ${text(others)}`, ...rest].join(', ');
}
