/** The measurements as Artillery metrics, so that `config.plugins.ensure` can set thresholds on them. */

import type { Result } from '../../protocol/result/result.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { valueAt } from '../../report/figures/figures.ts';
import { whyNotQuoted } from '../../report/figures/quoted.ts';
import { total } from '../../report/text/format.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import type { ArtilleryStats } from './artillery-stats.ts';
import { runMetrics } from './run-metrics.ts';

/** Adds the run's figures to Artillery's own, except unmeasured ones and those that may not be quoted. */
export function addMetrics(stats: ArtilleryStats, result: Result, layers: readonly Layer[] = LAYERS): void {
  for (const { name, kind, path, unit } of runMetrics(layers)) {
    const value = isWithheld(result, path) ? null : valueAt(result, path);
    if (value === null || value === undefined) continue;
    if (kind === 'counter')
      stats.counters[name] = counterOf(
        typeof value === 'number' ? value : total(value as Record<string, number>),
        unit,
      );
    else stats.summaries[name] = aggregationsOf(value as Summary);
  }
}

/**
 * For other plugins, such as publish-metrics, which pass on the metrics of periods and never look at those of the run.
 * @param stats of the whole run
 * @returns a period that has the run's figures and nothing else, so that nothing counts twice
 */
export function asPeriod(stats: ArtilleryStats, result: Result): ArtilleryStats {
  const period = { ...stats, counters: {}, rates: {}, summaries: {} };
  addMetrics(period, result);
  return period;
}

/** A metric has no place for a doubt: what reports give with one, or not at all, is no metric. */
function isWithheld(result: Result, path: string): boolean {
  if (!path.startsWith('memory.')) return false;
  const isUnknown = result.verdict.status === 'INVALID' || result.absent.memory !== undefined;
  return isUnknown || whyNotQuoted(result, path) !== undefined;
}

/** A share is not rounded up to 1: one lost copy in a million must miss a threshold. */
function counterOf(value: number, unit: string): number {
  return unit === '0 to 1' ? value : Math.round(value * 10_000) / 10_000;
}

/**
 * `ensure` ignores a threshold without a value: if there are too few broadcasts for a percentile, the maximum, which it
 * cannot exceed, takes its place.
 * @returns the summary with Artillery's names
 */
function aggregationsOf({ p999, p90, p95, p99, ...rest }: Summary): Record<string, number> {
  const { max, p50 } = rest;
  // p999 comes before p99, which is a prefix of it.
  return { p999: p999 ?? max, ...rest, p90: p90 ?? max, p95: p95 ?? max, p99: p99 ?? max, median: p50 };
}
