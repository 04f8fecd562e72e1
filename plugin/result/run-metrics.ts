/** Lists the metrics of a run: the names of its figures for Artillery's plugin `ensure`. */
import type { MetricDefinition } from '../../protocol/base/metric.ts';
import {
  ANY_NAME,
  DECLARED_FIGURES,
  type DeclaredFigure,
  figureUnit,
  firstAndLastKey,
} from '../../protocol/result/figure-paths.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';

interface RunMetric extends Omit<MetricDefinition, 'help'> {
  /** Kind of the metric. A counter is a number at the end of the run. A summary is the distribution of many values. */
  kind: 'counter' | 'summary';
  /** Path of the figure in the result document. If the figure consists of counts by reason, the metric is their sum. */
  path: string;
}

/**
 * Lists the metrics of a run. `ensure` replaces metric names in expressions one after the other, counters first. If one
 * name is the beginning of another name, the longer name must therefore come first.
 * @param layers layers whose memory figures become metrics
 */
export function runMetrics(layers: readonly Layer[] = LAYERS): RunMetric[] {
  const all = DECLARED_FIGURES.flatMap((figure) => metricsOf(figure, layers)).toSorted((a, b) =>
    a.name < b.name ? 1 : -1,
  );
  return [...all.filter(({ kind }) => kind === 'counter'), ...all.filter(({ kind }) => kind === 'summary')];
}

function metricsOf(figure: DeclaredFigure, layers: readonly Layer[]): RunMetric[] {
  const { path, threshold } = figure;
  if (threshold === undefined) return [];
  const kind = figure.kind === 'distribution' ? 'summary' : 'counter';
  const metric = { kind, unit: figureUnit(figure) } as const;
  if (!path.includes(ANY_NAME)) return [{ ...metric, name: threshold === true ? nameOf(path) : threshold, path }];
  return layers
    .flatMap(({ figures }) => figures)
    .flatMap(({ id, metric: word }) =>
      word === undefined
        ? []
        : { ...metric, name: String(threshold).replace('*', word), path: path.replace(ANY_NAME, id) },
    );
}

/** Converts a path such as `delivery.lostConnected` to a name such as `socketio.delivery.lost_connected`. */
function nameOf(path: string): string {
  const [part, key] = firstAndLastKey(path);
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `${part === 'connections' ? '' : 'socketio.'}${part}.${name}`;
}

export const METRIC_UNITS: Record<string, string> = Object.fromEntries(
  runMetrics().map(({ name, unit }) => [name, unit]),
);
