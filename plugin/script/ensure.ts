/** Reads the thresholds that are set for Artillery's plugin `ensure`. */
import type { MetricDefinition } from '../../protocol/base/metric.ts';
import { didYouMean, formatPath, type InputProblem, type ProblemPath } from '../../protocol/base/problems.ts';
import type { Script } from './script.ts';

/**
 * Returns the settings of the plugin `ensure`, and their path in the script: `config.ensure`, or else
 * `config.plugins.ensure`. The settings are empty if both are missing.
 */
export function ensureSettings({ config }: Script): [at: ProblemPath, settings: Record<string, unknown>] {
  const [at, settings] = config.ensure
    ? [['config', 'ensure'], config.ensure]
    : [['config', 'plugins', 'ensure'], config.plugins?.ensure];
  return [at, typeof settings === 'object' && settings !== null ? (settings as Record<string, unknown>) : {}];
}

export function hasThresholds(script: Script): boolean {
  const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined);
  return Object.values(ensureSettings(script)[1]).some(isGiven);
}

/** Matches names of metrics in an expression. They contain dots, unlike functions and operators. */
const METRIC = /(?<![\w./-])[a-z_][\w-]*(?:\.[\w-]+)+/gi;

/** Returns the names of the metrics in an expression, without duplicates. */
export function metricsInExpression(expression: string): string[] {
  return [...new Set(expression.match(METRIC))];
}

/** Prefixes of metrics that only this tool reports. */
const OWN_PREFIXES = ['connections', 'memory', 'socketio'];
/** Prefix of the metrics whose names end with a disconnect reason. */
const DISCONNECTS = 'socketio.disconnect';

/**
 * Returns the problems of thresholds on metrics that this tool does not report. `ensure` would report them as missed
 * after the run.
 * @param metrics all metrics of the run and of the engine
 */
export function unknownMetrics(script: Script, metrics: readonly Pick<MetricDefinition, 'name'>[]): InputProblem[] {
  const [at] = ensureSettings(script);
  const names = metrics.map(({ name }) => name);
  const isKnown = (metric: string) => [...names, DISCONNECTS].some((name) => `${metric}.`.startsWith(`${name}.`));
  const isOwn = (metric: string) => didYouMean(metric.split('.')[0] as string, OWN_PREFIXES) !== '';
  return expressionsIn(script).flatMap(([path, expression]) =>
    metricsInExpression(expression)
      .filter((metric) => isOwn(metric) && !isKnown(metric))
      .map((metric) => ({
        path: formatPath([...at, ...path]),
        message: `unknown metric ${metric}${didYouMean(metric, names)}`,
      })),
  );
}

/** Returns the expressions in the settings of `ensure`, with their paths. */
function expressionsIn(script: Script): (readonly [ProblemPath, string])[] {
  const [, { thresholds, conditions }] = ensureSettings(script);
  return [
    ...objectsIn(thresholds).map(
      (threshold, index) => [['thresholds', index], String(Object.keys(threshold)[0] ?? '')] as const,
    ),
    ...objectsIn(conditions).map(
      ({ expression = '' }, index) => [['conditions', index, 'expression'], String(expression)] as const,
    ),
  ];
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
}
