/** Metrics of a run: the names of its figures in Artillery's plugin `ensure`. */
import type { Metric } from '../../protocol/base/metric.ts';
import { ANY, ends, FIGURES, type Figure, unitOf } from '../../protocol/result/figure-paths.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';

interface RunMetric extends Omit<Metric, 'help'> {
  /** A counter is a number at the end of the run, a summary the distribution of many values. */
  kind: 'counter' | 'summary';
  /** Key of the figure in the result document. A metric for counts by reason is their sum. */
  path: string;
}

/**
 * Lists the metrics of a run. `ensure` replaces names inside expressions one after the other, counters first: of two names with the same
 * beginning, the longer one must be first.
 * @param layers layers whose figures name the memory metrics
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

/** Converts `delivery.lostConnected` to `socketio.delivery.lost_connected`. */
function nameOf(path: string): string {
  const [part, key] = ends(path);
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `${part === 'connections' ? '' : 'socketio.'}${part}.${name}`;
}

/** Units of the metrics, by name. */
export const METRIC_UNITS: Record<string, string> = Object.fromEntries(
  runMetrics().map(({ name, unit }) => [name, unit]),
);
