/** Thresholds of Artillery's plugin `ensure`. */
import type { Metric } from '../../protocol/metric.ts';
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import type { Script } from './script.ts';

type Named = Pick<Metric, 'name' | 'kind'>;

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

/** Artillery's plugin `apdex` computes these at the end of a host, out of that host's figures alone. */
const OF_ONE_HOST = /(?<![\w.])(apdex|ranking)(?![\w.])/;

/** Returns thresholds on values that no host sends to a conductor. */
export function unknownToHosts(script: Script): Problem[] {
  const [at] = ensureOf(script);
  return expressionsIn(script).flatMap(([path, expression]) => {
    const [value] = OF_ONE_HOST.exec(expression) ?? [];
    if (value === undefined) return [];
    return [
      { path: formatPath([...at, ...path]), message: `\`${value}\` is known of each host, but not of all together` },
    ];
  });
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

/** What a summary has, in Artillery's spelling. */
const AGGREGATIONS = ['min', 'max', 'count', 'mean', 'median', 'p50', 'p75', 'p90', 'p95', 'p99', 'p999'];
const OF_USERS = ['vusers.created', 'vusers.completed', 'vusers.failed', 'vusers.skipped'];
/** Metrics whose names Artillery, or the run, makes up from other names. */
const MADE_UP = /^(vusers\.(created_by_name|session_length)|socketio\.disconnect)\./;
/** All metrics of these parts are known; any other part can be a plugin's, or a user's. */
const OWN = ['connections', 'memory', 'socketio', 'vusers'];
/** How other languages write them. */
const OPERATORS: Record<string, string> = { '=>': '>=', '=<': '<=', '===': '==', '&&': 'and', '||': 'or' };

/**
 * `ensure` evaluates what it does not understand as missed, and only at the end.
 * @param metrics of the run and of our engine @param canEvaluate whether `ensure` understands an expression
 */
export function thresholdProblems(
  script: Script,
  metrics: readonly Named[],
  canEvaluate: (expression: string) => boolean,
): Problem[] {
  const [at, { thresholds, conditions }] = ensureOf(script);
  const known = [...namesOf(metrics), ...OF_USERS];
  const problems: Problem[] = [];
  const say = (path: Path, message: string) => problems.push({ path: formatPath([...at, ...path]), message });
  for (const [name, value] of Object.entries({ thresholds, conditions })) {
    if (value !== undefined && value !== null && !Array.isArray(value)) say([name], 'expected a list');
  }
  for (const [path, text] of expressionsIn(script)) {
    const operator = Object.keys(OPERATORS).find((wrong) => text.includes(wrong));
    if (operator !== undefined) say(path, `unknown operator ${operator}, did you mean "${OPERATORS[operator]}"?`);
    else if (!canEvaluate(asNumbers(text, known)))
      say(path, 'no expression, such as `connections.failed < 1 and vusers.failed < 1`');
    for (const metric of metricsIn(text)) {
      if (known.includes(metric) || MADE_UP.test(metric)) continue;
      const [part = ''] = metric.split('.');
      if (!OWN.includes(part) && didYouMean(part, OWN) === '') continue;
      say(path, `unknown metric ${metric}${didYouMean(metric, known)}`);
    }
  }
  return problems;
}

/** @returns the expression with a number for each metric that is known; a number alone where others remain, of any spelling */
function asNumbers(expression: string, known: string[]): string {
  const numbers = expression.replace(METRIC, (metric) => (known.includes(metric) ? '1' : metric));
  return /[^\d\s.]\.|\.[a-z]|[/'"]/i.test(numbers) ? '1' : numbers;
}

function namesOf(metrics: readonly Named[]): string[] {
  return metrics.flatMap(({ name, kind }) =>
    kind === 'summary' || kind === 'histogram' ? AGGREGATIONS.map((one) => `${name}.${one}`) : [name],
  );
}

function listed(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}
