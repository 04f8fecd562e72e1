/**
 * Measured figures of runs, for comparisons. INVALID runs have no figures. A slope with a doubt (a reason to distrust
 * it) is shown in tables only.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { MemorySlope } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { spreadOf } from '../statistics/spread.ts';
import { DOUBT_TEXTS, whySlopeNotQuoted } from '../statistics/straightness.ts';
import { COMPARABLE_FIGURES, type ComparableFigure, comparedValue, invalidationsOf, valueAtKey } from './figures.ts';
import { isConclusiveCost } from './per-connection.ts';

interface MeasuredFigure {
  figure: ComparableFigure;
  /** Mean and spread of the figure in each set of runs; null if it was not measured. */
  spreads: (Spread | null)[];
  /** Codes of findings that invalidate the figure in some runs, for each set. The figure is left out for these runs. */
  invalidatedBy: string[][];
}

export function isUsable({ verdict }: Result): boolean {
  return verdict.status !== 'INVALID';
}

/** @param sets usable runs of each set */
export function measuredFigures(sets: Result[][]): MeasuredFigure[] {
  const measured = COMPARABLE_FIGURES.map((figure) => ({
    figure,
    spreads: sets.map((runs) => spreadOf(runs.flatMap((run) => comparedValue(run, figure) ?? []))),
    invalidatedBy: sets.map((runs) => [...new Set(runs.flatMap((run) => invalidationsOf(run, figure)))]),
  })).filter(
    ({ spreads, invalidatedBy }) =>
      spreads.some((spread) => spread !== null) || invalidatedBy.some((codes) => codes.length > 0),
  );
  const paths = new Set(measured.map(({ figure }) => figure.path));
  return measured.filter(({ figure }) => figure.insteadOf === undefined || !paths.has(figure.insteadOf));
}

/** Returns the mean and spread of each figure, by key. INVALID runs are ignored. */
export function figureSpreads(results: Result[]): Record<string, Spread> {
  return Object.fromEntries(
    measuredFigures([results.filter(isUsable)]).flatMap(({ figure, spreads: [spread] }) =>
      spread ? [[figure.path, spread] as const] : [],
    ),
  );
}

/** Pattern of the keys of the headline figure, memory per connection. */
const HEADLINE = /^memory\.perConnection\.(bytes|high95)$/;
const SLOPE = /^(memory\.(inService\.)?perConnectionBytes\.[^.]+)\.(?:slope|low95|high95)$/;

/** Returns why the figure cannot be quoted, such as `not a straight line`; undefined if it can. */
export function whyNotQuoted(result: Result, path: string): string | undefined {
  const cost = result.memory.perConnection;
  const [, key] = HEADLINE.exec(path) ?? [];
  if (cost && key !== undefined) {
    if (cost.isAtLeast) return 'a part of it is unknown';
    return key === 'bytes' && !isConclusiveCost(cost) ? 'its 95 % interval is wide' : undefined;
  }
  const [, line, inService] = SLOPE.exec(path) ?? [];
  const slope = line === undefined ? undefined : (valueAtKey(result, line) as MemorySlope | null | undefined);
  // The slope of memory in service has no interval, so only its doubts are checked.
  if (inService !== undefined) return slope?.doubt && DOUBT_TEXTS[slope.doubt];
  return slope ? whySlopeNotQuoted(slope) : undefined;
}
