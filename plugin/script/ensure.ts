/** Thresholds of Artillery's plugin `ensure`. */
import type { Metric } from '../../protocol/base/metric.ts';
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/base/problems.ts';
import type { Script } from './script.ts';

/** @returns its settings in the one of two places that counts, and the place; empty without any */
export function ensureOf({ config }: Script): [at: Path, settings: Record<string, unknown>] {
  const [at, settings] = config.ensure
    ? [['config', 'ensure'], config.ensure]
    : [['config', 'plugins', 'ensure'], config.plugins?.ensure];
  return [at, typeof settings === 'object' && settings !== null ? (settings as Record<string, unknown>) : {}];
}

export function hasThresholds(script: Script): boolean {
  const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined);
  return Object.values(ensureOf(script)[1]).some(isGiven);
}

/** A metric: names of functions and operators have no dots. */
const METRIC = /(?<![\w./-])[a-z_][\w-]*(?:\.[\w-]+)+/gi;

/** @returns the metrics in an expression, each once */
export function metricsIn(expression: string): string[] {
  return [...new Set(expression.match(METRIC))];
}

/** First parts of the names that only this engine and this plugin use. */
const OWN = ['connections', 'memory', 'socketio'];
/** The end of each name is the reason of a disconnect. */
const DISCONNECTS = 'socketio.disconnect';

/**
 * Returns thresholds on metrics of this engine or plugin that do not exist: `ensure` reports these as missed after the run.
 * @param metrics of the run and of the engine
 */
export function unknownMetrics(script: Script, metrics: readonly Pick<Metric, 'name'>[]): Problem[] {
  const [at] = ensureOf(script);
  const names = metrics.map(({ name }) => name);
  const isKnown = (metric: string) => [...names, DISCONNECTS].some((name) => `${metric}.`.startsWith(`${name}.`));
  const isOwn = (metric: string) => didYouMean(metric.split('.')[0] as string, OWN) !== '';
  return expressionsIn(script).flatMap(([path, expression]) =>
    metricsIn(expression)
      .filter((metric) => isOwn(metric) && !isKnown(metric))
      .map((metric) => ({
        path: formatPath([...at, ...path]),
        message: `unknown metric ${metric}${didYouMean(metric, names)}`,
      })),
  );
}

/** Returns the expressions with their places below `ensure`. */
function expressionsIn(script: Script): (readonly [Path, string])[] {
  const [, { thresholds, conditions }] = ensureOf(script);
  return [
    ...listed(thresholds).map((one, index) => [['thresholds', index], String(Object.keys(one)[0] ?? '')] as const),
    ...listed(conditions).map(
      (one, index) => [['conditions', index, 'expression'], String(one.expression ?? '')] as const,
    ),
  ];
}

function listed(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}
