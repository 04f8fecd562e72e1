/** Figures that comparisons use, as declared in the result schema. */
import { titleOfLayer } from '../../protocol/documents/named-layers.ts';
import {
  ANY_NAME,
  DECLARED_FIGURES as DECLARED,
  type DeclaredFigure,
  declaredFigureAt,
} from '../../protocol/result/figure-paths.ts';
import type { InvalidatedPart } from '../../protocol/result/findings.ts';
import type { MemoryPerConnection, MemorySlope } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type QuantityName, quantityOf } from '../model/amount.ts';
import { totalOfCounts } from '../text/format.ts';
import { distortingContention } from './contention.ts';

export interface DescribedFigure {
  /** Dotted key in the result document. */
  path: string;
  title: string;
  quantity: QuantityName;
  better: 'lower' | 'higher';
  /**
   * Key of another figure that a comparison prefers. This figure is compared only if the preferred figure is missing.
   */
  insteadOf?: string;
  /**
   * Whether the figure is primary. Primary figures get most of a comparison's error budget (allowed probability of
   * false differences), so their intervals are narrower.
   */
  primary?: true;
}

export interface ComparableFigure extends DescribedFigure {
  declared: DeclaredFigure;
}

/**
 * Figures of the deployment that comparisons use. The list is short, because each additional figure widens all
 * intervals (see compare.ts). It excludes the generator's figures, the capacity, which follows from the slope of
 * memory, and maxima, which are the noisiest.
 */
export const COMPARABLE_FIGURES: ComparableFigure[] = DECLARED.flatMap(comparedOf);

function comparedOf(declared: DeclaredFigure): ComparableFigure[] {
  const { path, compared = {} } = declared;
  const byName = typeof compared === 'string' || 'insteadOf' in compared ? { '': compared } : compared;
  return Object.entries(byName).map(([name, how]) => {
    const pathOf = (one: string) =>
      one === '' ? path : path.includes(ANY_NAME) ? path.replace(ANY_NAME, one) : `${path}.${one}`;
    const primary = how === 'primary' && { primary: true as const };
    const instead = typeof how === 'object' && { insteadOf: pathOf(String(how.insteadOf)) };
    return { ...described(declared, name, pathOf(name)), ...primary, ...instead };
  });
}

function described(declared: DeclaredFigure, name: string, path: string): ComparableFigure {
  const { title = declared.description, quantity, better = 'lower' } = declared;
  return { path, title: name === '' ? title : titled(declared, title, name), quantity, better, declared };
}

/** Returns, for example, `Workers CPU while idle`, `Connect time p99`, or `Idle CPU of the machine, ramp`. */
function titled({ path, kind }: DeclaredFigure, title: string, name: string): string {
  if (path.includes(ANY_NAME)) return `${titleOfLayer(name)} ${title}`;
  return kind === 'distribution' ? `${title} ${name}` : `${title}, ${name}`;
}

/** Returns the figure that the result schema declares for a key, even if comparisons do not use it. */
export function figureByKey(path: string): ComparableFigure | undefined {
  const found = declaredFigureAt(path);
  return found && described(found.figure, found.name, path);
}

/** Quantities of figures that the CPU use of other programs distorts. Counts and memory are not distorted. */
const DISTURBED: QuantityName[] = ['milliseconds', 'perSecond', 'cpuSeconds', 'percent', 'microseconds'];

/**
 * Returns the figure's value for a comparison. Null if it is unknown, distorted by other programs, or invalidated by a
 * finding.
 */
export function comparedValue(result: Result, figure: ComparableFigure): number | null {
  if (DISTURBED.includes(figure.quantity) && distortingContention(result)) return null;
  return invalidatedBy(result, figure.path).length > 0 ? null : measuredValue(result, figure);
}

/** Returns the codes of findings that invalidate a measured figure. */
export function invalidationsOf(result: Result, figure: ComparableFigure): string[] {
  return measuredValue(result, figure) === null ? [] : invalidatedBy(result, figure.path);
}

function measuredValue(result: Result, { path, quantity }: ComparableFigure): number | null {
  const found = valueAtKey(result, path);
  // If the result has a count for each cause, the counts are added up.
  const isCounts = quantity === 'count' && typeof found === 'object' && found !== null;
  return isCounts ? totalOfCounts(found as Record<string, number>) : knownValueAt(result, path);
}

/**
 * Returns the value of a figure; null if it was not measured. Memory is also null if a part is missing, or if the slope
 * is doubtful.
 */
export function knownValueAt(result: Result, path: string): number | null {
  const value = valueAtKey(result, path);
  const cost = (valueAtKey(result, path.replace(/\.[^.]*$/, '')) ?? {}) as Partial<MemoryPerConnection & MemorySlope>;
  const { isAtLeast, parts = [] } = cost;
  const isSpoiled = isAtLeast === true || [cost, ...parts].some(({ doubt = 'curved' }) => doubt !== 'curved');
  return typeof value !== 'number' || isSpoiled ? null : value;
}

/**
 * Returns the 95 % interval of a figure; null if it has none. The result stores the interval next to the figure, or in
 * `intervals` of its section.
 */
export function intervalAt(result: Result, path: string): { low95: number; high95: number } | null {
  const keys = path.split('.');
  const beside = keys.slice(0, -1).join('.');
  const among = keys.map((_, at) => [...keys.slice(0, at), 'intervals', ...keys.slice(at)].join('.'));
  for (const place of [beside, ...among]) {
    const { low95, high95 } = (valueAtKey(result, place) ?? {}) as Partial<Record<'low95' | 'high95', unknown>>;
    if (typeof low95 === 'number' && typeof high95 === 'number') return { low95, high95 };
  }
  return null;
}

/** @param path key with dots, such as `latency.oneWayMs.p99` */
export function valueAtKey(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], document);
}

/**
 * Returns the number of missing or excess connections, copies or messages. Null for measured figures, and if nothing
 * was counted.
 */
export function faultCount(result: Result, figure: ComparableFigure): number | null {
  const { path, declared } = figure;
  if (!isCountFigure(figure) || measuredValue(result, figure) === null) return null;
  const { faults } = declared;
  return faults ? faults(valueAtKey(result, path.replace(/\.[^.]*$/, '')) as never) : measuredValue(result, figure);
}

/**
 * Returns whether the figure is a count. A count has no measurement error, so a single run can show that a version is
 * worse.
 */
export function isCountFigure({ quantity }: Pick<DescribedFigure, 'quantity'>): boolean {
  return quantity === 'count' || quantity === 'share';
}

/** Relative accuracy of measured figures. For memory and rates, the calibration (docs/calibration.md) shows it. */
const ACCURACY_SHARE = 0.02;
/**
 * Absolute accuracy in the units of the result, for small figures. The calibration shows it for bytes and times. For
 * CPU, it is one kernel tick of 10 ms.
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

/** Returns the accuracy of the measurement in the figure's unit. A difference below it means nothing. */
export function figureAccuracy(figure: DescribedFigure, value: number): number {
  return isCountFigure(figure) ? 0 : Math.max(ACCURACY[figure.quantity] ?? 0, ACCURACY_SHARE * Math.abs(value));
}

/** Returns the title of a figure with its unit, such as `Connect time p50, ms`. */
export function titleOfFigure({ title, quantity }: DescribedFigure): string {
  const { unit } = quantityOf(quantity);
  return unit === '' ? title : `${title}, ${unit}`;
}

/** Returns the codes of invalidating findings for each part of the answer. */
function invalidatedAnswers({ findings }: Pick<Result, 'findings'>): Map<InvalidatedPart, string[]> {
  const found = new Map<InvalidatedPart, string[]>();
  for (const { code, invalidates } of findings) {
    for (const answer of invalidates) found.set(answer, [...(found.get(answer) ?? []), code]);
  }
  return found;
}

/** Returns the codes of the run's findings that invalidate the figure at this path. */
export function invalidatedBy(result: Pick<Result, 'findings'>, path: string): string[] {
  if (result.findings.length === 0) return [];
  const invalidated = invalidatedAnswers(result);
  return [
    ...new Set((declaredFigureAt(path)?.figure.answers ?? []).flatMap((answer) => invalidated.get(answer) ?? [])),
  ];
}
