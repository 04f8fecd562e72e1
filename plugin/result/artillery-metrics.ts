/**
 * Adds the run's figures to Artillery's metrics, so that thresholds of `config.plugins.ensure` can use them, and reads
 * the evaluated thresholds.
 */

import { ownProperty } from '../../protocol/base/sum-counts.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { valueAtKey } from '../../report/figures/figures.ts';
import { whyNotQuoted } from '../../report/figures/measured-figures.ts';
import { totalOfCounts } from '../../report/text/format.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import { metricsInExpression } from '../script/ensure.ts';
import type { ArtilleryStats, EnsureCheck } from './artillery-stats.ts';
import { METRIC_UNITS, runMetrics } from './run-metrics.ts';

/**
 * Adds the run's figures to Artillery's metrics. Leaves out figures that were not measured or that cannot be quoted.
 */
export function addMetrics(stats: ArtilleryStats, result: Result, layers: readonly Layer[] = LAYERS): void {
  for (const { name, kind, path, unit } of runMetrics(layers)) {
    const value = isWithheld(result, path) ? null : valueAtKey(result, path);
    if (value === null || value === undefined) continue;
    if (kind === 'counter')
      stats.counters[name] = counterOf(
        typeof value === 'number' ? value : totalOfCounts(value as Record<string, number>),
        unit,
      );
    else stats.summaries[name] = aggregationsOf(value as Summary);
  }
}

/**
 * Builds metrics of a period for other plugins, such as publish-metrics, which forward the metrics of periods and
 * ignore the metrics of the whole run.
 * @param stats Artillery's metrics of the whole run
 * @returns a period that contains only this run's figures, so that nothing is counted twice
 */
export function periodMetrics(stats: ArtilleryStats, result: Result): ArtilleryStats {
  const period = { ...stats, counters: {}, rates: {}, summaries: {} };
  addMetrics(period, result);
  return period;
}

/**
 * Returns whether a figure is left out because it is doubtful. Reports can mark a figure as doubtful, but a metric
 * cannot.
 */
function isWithheld(result: Result, path: string): boolean {
  if (!path.startsWith('memory.')) return false;
  const isUnknown = result.verdict.status === 'INVALID' || result.absent.memory !== undefined;
  return isUnknown || whyNotQuoted(result, path) !== undefined;
}

/** Rounds a counter. A share is not rounded: 0.999999 misses a threshold of 1, so it must not become 1. */
function counterOf(value: number, unit: string): number {
  return unit === '0 to 1' ? value : Math.round(value * 10_000) / 10_000;
}

/**
 * Converts a summary to Artillery's names of percentiles. If there are too few broadcasts for a percentile, its value
 * is the maximum, which is an upper limit of the percentile: `ensure` would ignore a threshold for a metric without a
 * value.
 */
function aggregationsOf({ p999, p90, p95, p99, ...rest }: Summary): Record<string, number> {
  const { max, p50 } = rest;
  // `ensure` replaces the names one after the other. p999 must come before p99, because p99 is the beginning of its
  // name.
  return { p999: p999 ?? max, ...rest, p90: p90 ?? max, p95: p95 ?? max, p99: p99 ?? max, median: p50 };
}

/**
 * Reads the thresholds that `ensure` has evaluated.
 * @param stats metrics of the whole run, with which the thresholds were evaluated; undefined if the run ended without
 * metrics
 */
export function thresholdsOf(checks: EnsureCheck[], stats: ArtilleryStats | undefined): Result['thresholds'] {
  return checks.map(({ original, result, strict, hashed = '' }) => {
    // `ensure` counts a threshold of an unknown metric as missed.
    const unknown = metricsInExpression(hashed.replaceAll(/'[^']*'/g, ''));
    const found = stats ? valuesIn(original, stats) : [];
    return {
      // Artillery's text for the threshold contains `maxErrorRate <`, but Artillery evaluates it as `<=`.
      expression: original.replace(/^maxErrorRate < /, 'maxErrorRate <= '),
      met: result === 1,
      strict,
      ...(unknown.length > 0 && { unknown }),
      ...(found.length > 0 && { found }),
    };
  });
}

type Found = NonNullable<Result['thresholds'][number]['found']>;

/** Returns the values of the metrics in an expression. The error rate is computed from two metrics. */
function valuesIn(expression: string, stats: ArtilleryStats): Found {
  const { counters } = stats;
  if (expression.startsWith('maxErrorRate')) {
    const [created = 0, completed = 0] = [counters['vusers.created'], counters['vusers.completed']];
    const value = created === 0 ? 0 : (100 * (created - completed)) / created;
    return [{ metric: 'maxErrorRate', value, unit: '% of virtual users' }];
  }
  return metricsInExpression(expression).flatMap((metric) => {
    const value = valueIn(metric, stats);
    return value === undefined ? [] : [{ metric, value, unit: unitOf(metric) }];
  });
}

function valueIn(metric: string, { counters, rates, summaries }: ArtilleryStats): number | undefined {
  const { name, aggregation } = inSummary(metric);
  // A metric can have the name of a property that every JavaScript object inherits.
  const summary = ownProperty(summaries, name) ?? {};
  return ownProperty(counters, metric) ?? ownProperty(rates, metric) ?? ownProperty(summary, aggregation);
}

/** Returns the unit of a metric; empty for Artillery's own metrics, whose units are unknown. */
function unitOf(metric: string): string {
  return METRIC_UNITS[metric] ?? METRIC_UNITS[inSummary(metric).name] ?? '';
}

/** A name such as `connections.connect_time.p99` means the aggregation `p99` of a summary. */
function inSummary(metric: string): { name: string; aggregation: string } {
  const dot = metric.lastIndexOf('.');
  return { name: metric.slice(0, dot), aggregation: metric.slice(dot + 1) };
}
