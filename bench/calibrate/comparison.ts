/** Row of the calibration: true value, measured value, and whether the error is within the bound. */
import { z } from 'zod';
import { decimalsText, integerText } from '../../report/text/format.ts';

/** Allowed error of a measurement. The larger of both parts applies. */
export interface ErrorBound {
  /** Allowed error in the unit of the row. */
  absolute?: number;
  /** Allowed error as a share of the true value. */
  share?: number;
}

/** Number that is `Infinity` if the figure is missing. JSON stores `Infinity` as null. */
const numberSchema = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.POSITIVE_INFINITY);

const comparisonSchema = z.object({
  what: z.string(),
  unit: z.enum(['ms', 'bytes', '1/s', 'count', '%', 's', 'µs']),
  truth: numberSchema,
  measured: numberSchema,
  bound: z.string(),
  ok: z.boolean(),
});
export type TruthComparison = z.output<typeof comparisonSchema>;
export type ComparisonUnit = TruthComparison['unit'];

const AT_MOST = 'at most';
const EXACT = 'exact';

/** Section of the calibration: rows with an explanation. */
export const calibrationSectionSchema = z.object({
  title: z.string(),
  text: z.string(),
  rows: z.array(comparisonSchema),
});
export type CalibrationSection = z.output<typeof calibrationSectionSchema>;

export function compareWithin(
  what: string,
  unit: ComparisonUnit,
  truth: number,
  measured: number,
  bound: ErrorBound,
): TruthComparison {
  const { absolute = 0, share = 0 } = bound;
  const ok = Math.abs(measured - truth) <= Math.max(absolute, share * Math.abs(truth));
  return { what, unit, truth, measured, bound: describe(bound, unit), ok };
}

export function compareExactly(what: string, truth: number, measured: number): TruthComparison {
  return { what, unit: 'count', truth, measured, bound: EXACT, ok: truth === measured };
}

/** Compares a measured value with an upper bound. Used if the exact value is unknown. */
export function compareAtMost(what: string, unit: ComparisonUnit, truth: number, measured: number): TruthComparison {
  return { what, unit, truth, measured, bound: AT_MOST, ok: measured <= truth };
}

/** Checks that a measured interval contains the true value. */
export function compareInterval(what: string, truth: number, low: number, high: number): TruthComparison {
  const ok = low <= truth && truth <= high;
  const measured = (low + high) / 2;
  return { what, unit: 'bytes', truth, measured, bound: `± ${inUnit((high - low) / 2, 'bytes')}`, ok };
}

/** Returns the value. A missing value becomes `Infinity`, which violates every bound. */
export function valueOrInfinity(value: number | null | undefined): number {
  return value ?? Number.POSITIVE_INFINITY;
}

export const TABLE_HEAD = ['what', 'true value', 'measured', 'error', 'bound', 'ok'];

export function comparisonCells({ what, unit, truth, measured, bound, ok }: TruthComparison): string[] {
  const error = bound === AT_MOST ? '–' : errorText(truth, measured, unit);
  return [what, inUnit(truth, unit), inUnit(measured, unit), error, bound, ok ? 'yes' : 'NO'];
}

/** Summarizes the rows by kind of bound: largest error, bound, and number of rows within the bound. */
export function summarizeComparisons(rows: TruthComparison[]): string[][] {
  const kinds = Map.groupBy(rows, ({ unit, bound }) => `${unit} ${bound.replace(/\d/g, '')}`);
  return [...kinds.values()].map((rowsOfKind) => {
    const worst = rowsOfKind.reduce((left, right) => (errorOf(right) > errorOf(left) ? right : left));
    const [what = '', truth = '', measured = ''] = comparisonCells(worst);
    const kept = rowsOfKind.filter(({ ok }) => ok).length;
    const equal = worst.bound === EXACT && kept === rowsOfKind.length;
    const shown = equal ? [`${kept} counts`, '–', 'equal'] : [what, truth, measured];
    return [...shown, worst.bound, `${kept} of ${rowsOfKind.length}`];
  });
}

function errorOf({ truth, measured, bound, ok }: TruthComparison): number {
  if (!ok) return Number.POSITIVE_INFINITY;
  return bound === AT_MOST ? measured - truth : Math.abs(measured - truth);
}

function errorText(truth: number, measured: number, unit: ComparisonUnit): string {
  const error = measured - truth;
  if (error === 0) return '0';
  const sign = error > 0 ? '+' : '';
  const share =
    truth === 0 || unit === 'count' || unit === '%' ? '' : ` (${sign}${decimalsText((100 * error) / truth, 2)} %)`;
  return `${sign}${inUnit(error, unit)}${share}`;
}

function inUnit(value: number, unit: ComparisonUnit): string {
  if (!Number.isFinite(value)) return 'nothing';
  if (unit === 'ms') return `${decimalsText(value, 2)} ms`;
  if (unit === '%') return `${decimalsText(value, 1)} %`;
  if (unit === 's') return `${decimalsText(value, 3)} s`;
  if (unit === 'µs') return `${decimalsText(value, 1)} µs`;
  if (unit === '1/s') return `${decimalsText(value, 1)} /s`;
  return unit === 'bytes' ? `${integerText(value)} B` : integerText(value);
}

function describe({ absolute, share }: ErrorBound, unit: ComparisonUnit): string {
  const texts = [
    ...(absolute === undefined ? [] : [inUnit(absolute, unit)]),
    ...(share === undefined ? [] : [`${decimalsText(share * 100, share < 0.01 ? 1 : 0)} %`]),
  ];
  return `± ${texts.join(' or ')}`;
}
