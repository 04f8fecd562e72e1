/** Measured figures of runs that can be compared. INVALID runs have none. */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { spreadOf } from '../statistics/spread.ts';
import { FIGURES, type Figure, figureOf, invalidationsOf } from './figures.ts';

export interface MeasuredFigure {
  figure: Figure;
  /** A spread per set of runs; null if it was not measured. */
  spreads: (Spread | null)[];
  /** Codes that invalidate it in some runs, which are left out, per set of runs. */
  invalidatedBy: string[][];
}

export function isUsable({ verdict }: Result): boolean {
  return verdict.status !== 'INVALID';
}

/** @param sets usable runs of each set */
export function measuredFigures(sets: Result[][]): MeasuredFigure[] {
  const measured = FIGURES.map((figure) => ({
    figure,
    spreads: sets.map((runs) => spreadOf(runs.flatMap((run) => figureOf(run, figure) ?? []))),
    invalidatedBy: sets.map((runs) => [...new Set(runs.flatMap((run) => invalidationsOf(run, figure)))]),
  })).filter(
    ({ spreads, invalidatedBy }) =>
      spreads.some((spread) => spread !== null) || invalidatedBy.some((codes) => codes.length > 0),
  );
  const paths = new Set(measured.map(({ figure }) => figure.path));
  return measured.filter(({ figure }) => figure.insteadOf === undefined || !paths.has(figure.insteadOf));
}

/** Returns the spreads by the figure's path, over the runs that are not INVALID. */
export function figureSpreads(results: Result[]): Record<string, Spread> {
  return Object.fromEntries(
    measuredFigures([results.filter(isUsable)]).flatMap(({ figure, spreads: [spread] }) =>
      spread ? [[figure.path, spread] as const] : [],
    ),
  );
}
