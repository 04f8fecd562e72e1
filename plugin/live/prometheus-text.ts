/** The Prometheus series of a live run, as the declarations of the result's figures say; and all as text. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Metric } from '../../protocol/base/metric.ts';
import { ANY, FIGURES, type Figure, unitOf } from '../../protocol/result/figure-paths.ts';
import { valueAt } from '../../report/figures/figures.ts';
import type { LiveFigures } from './live-figures.ts';

export interface Series extends Metric {
  kind: 'gauge' | 'counter';
  /** In addition to `run` and `scenario`, which all series have. */
  labels: string[];
  /** Values by set of labels, in the series' unit; an unknown value has no sample. */
  read: (figures: LiveFigures) => Sample[];
}

type Sample = [labels: Record<string, string>, value: unknown];

const PREFIX = 'socketio_capacity_';

/** Series whose label is its value, such as the stage. */
const STAGE: Series = {
  name: `${PREFIX}stage`,
  kind: 'gauge',
  unit: '–',
  help: 'Always 1; the label names the current stage',
  labels: ['stage'],
  read: ({ stage }) => [[{ stage }, 1]],
};

export const SERIES: Series[] = [
  STAGE,
  ...[...Map.groupBy(FIGURES, ({ live }) => live?.series)].flatMap(([name, figures]) =>
    name === undefined ? [] : seriesOf(name, figures),
  ),
];

/** @param figures those that declare the series, which differ in labels */
function seriesOf(series: string, figures: Figure[]): Series {
  const [{ live, description }] = figures as [Figure];
  const { help = description, label } = live ?? { series };
  const [unit, divisor] = baseUnit(figures[0] as Figure);
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

/** Prometheus has seconds, not milliseconds; and shares or cores, not percent. */
function baseUnit(figure: Figure): [unit: string, divisor: number] {
  if (figure.quantity === 'milliseconds') return ['seconds', 1000];
  return figure.quantity === 'percent' ? [figure.noun ?? '0 to 1', 100] : [unitOf(figure), 1];
}

/** The values at the figure's key, by the name that its label has. */
function samplesOf({ path, live }: Figure, now: LiveFigures): Sample[] {
  const { label = '', series = '' } = live ?? {};
  const [above, below] = path.split(`.${ANY}.`);
  if (below !== undefined) {
    // A figure with a key of its own belongs to no layer.
    const isLayer = (name: string) => !FIGURES.some((figure) => figure.path.startsWith(`${above}.${name}.`));
    const layers = Object.entries(valueAt(now, above as string) as object).filter(([name]) => isLayer(name));
    return layers.map(([name, layer]) => [{ [label]: name }, valueAt(layer, below)]);
  }
  const value = valueAt(now, path);
  if (typeof value !== 'object' || value === null) return [[{}, value]];
  // A zero without a cause, so that a rate begins at 0.
  const all = { ...(series.endsWith('_total') && { '': 0 }), ...value };
  return Object.entries(all).map(([name, one]) => [{ [label]: name }, one]);
}

/** @returns the text of `/metrics` */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  for (const { name, kind, help, labels, read } of SERIES) {
    const known = read(figures).flatMap(([labels, value]) => (typeof value === 'number' ? [{ labels, value }] : []));
    // A metric without samples would show as a zero.
    if (known.length === 0) continue;
    const metric = new (kind === 'gauge' ? Gauge : Counter)({ name, help, labelNames: labels, registers: [registry] });
    for (const { labels, value } of known) metric.inc(labels, value);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
