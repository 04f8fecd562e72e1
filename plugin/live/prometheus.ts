/** The live figures in Prometheus' text format. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { LiveFigures } from './figures.ts';
import { SERIES } from './series.ts';

/** @returns the text of `/metrics` */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  for (const { name, kind, help, labels, read } of SERIES) {
    const samples = read(figures);
    // A metric without samples would show as a zero.
    if (samples.length === 0) continue;
    const metric = new (kind === 'gauge' ? Gauge : Counter)({ name, help, labelNames: labels, registers: [registry] });
    for (const { labels, value } of samples) metric.inc(labels, value);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
