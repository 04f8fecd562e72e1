/**
 * Creates the Prometheus metrics of a run in progress. They are derived from the declarations of the result's figures.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { MetricDefinition } from '../../protocol/base/metric.ts';
import { ANY_NAME, DECLARED_FIGURES, type DeclaredFigure, figureUnit } from '../../protocol/result/figure-paths.ts';
import { valueAtKey } from '../../report/figures/figures.ts';
import type { LiveFigures } from './live-figures.ts';

export interface LiveMetricSeries extends MetricDefinition {
  kind: 'gauge' | 'counter';
  /** Names of the metric's own labels. All metrics also have the labels `run` and `scenario`. */
  labels: string[];
  /** Returns the metric's samples in the metric's unit. */
  read: (figures: LiveFigures) => Sample[];
}

type Sample = [labels: Record<string, string>, value: unknown];

const PREFIX = 'socketio_capacity_';

/** Metric whose label is the current stage of the run. */
const STAGE: LiveMetricSeries = {
  name: `${PREFIX}stage`,
  kind: 'gauge',
  unit: '–',
  help: 'Always 1; the label names the current stage',
  labels: ['stage'],
  read: ({ stage }) => [[{ stage }, 1]],
};

export const LIVE_METRICS: LiveMetricSeries[] = [
  STAGE,
  ...[...Map.groupBy(DECLARED_FIGURES, ({ live }) => live?.series)].flatMap(([name, figures]) =>
    name === undefined ? [] : seriesOf(name, figures),
  ),
];

/**
 * Returns the Prometheus metric for figures of the result.
 * @param figures figures that belong to the same metric, with different labels
 */
function seriesOf(series: string, figures: DeclaredFigure[]): LiveMetricSeries {
  const [{ live, description }] = figures as [DeclaredFigure];
  const { help = description, label } = live ?? { series };
  const [unit, divisor] = baseUnit(figures[0] as DeclaredFigure);
  return {
    name: PREFIX + series,
    kind: series.endsWith('_total') ? 'counter' : 'gauge',
    ...{ unit, help: help.charAt(0).toUpperCase() + help.slice(1) },
    labels: [...new Set([label ?? [], figures.flatMap(({ live }) => Object.keys(live?.labels ?? {}))].flat())],
    read: (now) =>
      figures.flatMap((figure) =>
        samplesOf(figure, now).map(
          ([labels, value]): Sample => [
            { ...labels, ...figure.live?.labels },
            typeof value === 'number' ? value / divisor : value,
          ],
        ),
      ),
  };
}

/**
 * Returns the unit that Prometheus recommends for a figure, and the divisor that converts the figure to this unit:
 * seconds for milliseconds, shares or cores for percent.
 */
function baseUnit(figure: DeclaredFigure): [unit: string, divisor: number] {
  if (figure.quantity === 'milliseconds') return ['seconds', 1000];
  return figure.quantity === 'percent' ? [figure.noun ?? '0 to 1', 100] : [figureUnit(figure), 1];
}

/**
 * Returns the samples of a figure. If the figure is an object, there is a sample for each key, with the key as label.
 */
function samplesOf({ path, live }: DeclaredFigure, now: LiveFigures): Sample[] {
  const { label = '', series = '' } = live ?? {};
  const [above, below] = path.split(`.${ANY_NAME}.`);
  if (below !== undefined) {
    // A key such as `system` is not a layer, because there is a separate figure for it.
    const isLayer = (name: string) => !DECLARED_FIGURES.some((figure) => figure.path.startsWith(`${above}.${name}.`));
    const layers = Object.entries(valueAtKey(now, above as string) as object).filter(([name]) => isLayer(name));
    return layers.map(([name, layer]) => [{ [label]: name }, valueAtKey(layer, below)]);
  }
  const value = valueAtKey(now, path);
  if (typeof value !== 'object' || value === null) return [[{}, value]];
  // A counter has an additional sample with the value 0 and an empty label, so that Prometheus computes correct rates
  // from the first value on.
  const all = { ...(series.endsWith('_total') && { '': 0 }), ...value };
  return Object.entries(all).map(([name, value]) => [{ [label]: name }, value]);
}

/** Returns the text of the live view's `/metrics`. Only values that are numbers are included. */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  for (const { name, kind, help, labels, read } of LIVE_METRICS) {
    const samples = read(figures).flatMap(([labels, value]) => (typeof value === 'number' ? [{ labels, value }] : []));
    // prom-client prints a metric without samples as 0, so it is left out.
    if (samples.length === 0) continue;
    const metric = new (kind === 'gauge' ? Gauge : Counter)({ name, help, labelNames: labels, registers: [registry] });
    for (const { labels, value } of samples) metric.inc(labels, value);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
