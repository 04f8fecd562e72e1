/** The thresholds of Artillery's plugin `ensure`, as it evaluated them. */
import { ownValue } from '../../protocol/base/sum-counts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { metricsIn } from '../script/ensure.ts';
import type { ArtilleryStats, Check } from './artillery-stats.ts';
import { METRIC_UNITS } from './run-metrics.ts';

/** @param stats of the whole run, on which they were evaluated; undefined where the run ended without */
export function thresholdsOf(checks: Check[], stats: ArtilleryStats | undefined): Result['thresholds'] {
  return checks.map(({ original, result, strict, hashed = '' }) => {
    // `ensure` evaluates a metric that does not exist like one that misses its threshold.
    const unknown = metricsIn(hashed.replaceAll(/'[^']*'/g, ''));
    const found = stats ? valuesIn(original, stats) : [];
    return {
      // It is evaluated as "at most", and Artillery names it "less than".
      expression: original.replace(/^maxErrorRate < /, 'maxErrorRate <= '),
      met: result === 1,
      strict,
      ...(unknown.length > 0 && { unknown }),
      ...(found.length > 0 && { found }),
    };
  });
}

type Found = NonNullable<Result['thresholds'][number]['found']>;

/** The error rate is no metric: it is computed from two of them. */
function valuesIn(expression: string, stats: ArtilleryStats): Found {
  const { counters } = stats;
  if (expression.startsWith('maxErrorRate')) {
    const [created = 0, completed = 0] = [counters['vusers.created'], counters['vusers.completed']];
    const value = created === 0 ? 0 : (100 * (created - completed)) / created;
    return [{ metric: 'maxErrorRate', value, unit: '% of virtual users' }];
  }
  return metricsIn(expression).flatMap((metric) => {
    const value = valueIn(metric, stats);
    return value === undefined ? [] : [{ metric, value, unit: unitOf(metric) }];
  });
}

function valueIn(metric: string, { counters, rates, summaries }: ArtilleryStats): number | undefined {
  const { name, aggregation } = inSummary(metric);
  // Anything can be the name of a metric, also what every object inherits.
  const summary = ownValue(summaries, name) ?? {};
  return ownValue(counters, metric) ?? ownValue(rates, metric) ?? ownValue(summary, aggregation);
}

/** Artillery's own metrics have none that is known here. */
function unitOf(metric: string): string {
  return METRIC_UNITS[metric] ?? METRIC_UNITS[inSummary(metric).name] ?? '';
}

/** `connections.connect_time.p99` is the aggregation `p99` of a summary. */
function inSummary(metric: string): { name: string; aggregation: string } {
  const dot = metric.lastIndexOf('.');
  return { name: metric.slice(0, dot), aggregation: metric.slice(dot + 1) };
}
