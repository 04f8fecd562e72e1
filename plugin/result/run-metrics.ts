/** The metrics of a run, by which Artillery's plugin `ensure` knows its figures. */
import type { Metric } from '../../protocol/base/metric.ts';
import { ANY, ends, FIGURES, type Figure, unitOf } from '../../protocol/result/figure-paths.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';

interface RunMetric extends Omit<Metric, 'help'> {
  /** A counter is one number at the end of the run, a summary the distribution of many. */
  kind: 'counter' | 'summary';
  /** Key of the figure in the result document. A metric of counts by reason is their sum. */
  path: string;
}

/**
 * `ensure` replaces names inside expressions one after the other, counters first: of two names that begin alike, the longer one
 * must come first.
 * @param layers their figures name the memory metrics
 */
export function runMetrics(layers: readonly Layer[] = LAYERS): RunMetric[] {
  const all = FIGURES.flatMap((figure) => metricsOf(figure, layers)).toSorted((a, b) => (a.name < b.name ? 1 : -1));
  return [...all.filter(({ kind }) => kind === 'counter'), ...all.filter(({ kind }) => kind === 'summary')];
}

function metricsOf(figure: Figure, layers: readonly Layer[]): RunMetric[] {
  const { path, threshold } = figure;
  if (threshold === undefined) return [];
  const kind = figure.kind === 'distribution' ? 'summary' : 'counter';
  const metric = { kind, unit: unitOf(figure) } as const;
  if (!path.includes(ANY)) return [{ ...metric, name: threshold === true ? nameOf(path) : threshold, path }];
  return layers
    .flatMap(({ figures }) => figures)
    .flatMap(({ id, metric: word }) =>
      word === undefined ? [] : { ...metric, name: String(threshold).replace('*', word), path: path.replace(ANY, id) },
    );
}

/** @returns `socketio.delivery.lost_connected` of `delivery.lostConnected` */
function nameOf(path: string): string {
  const [part, key] = ends(path);
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `${part === 'connections' ? '' : 'socketio.'}${part}.${name}`;
}

/** Metrics by name. */
export const METRIC_UNITS: Record<string, string> = Object.fromEntries(
  runMetrics().map(({ name, unit }) => [name, unit]),
);
