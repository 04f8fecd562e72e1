import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIVE_METRICS, renderMetrics } from '../../../plugin/live/prometheus-text.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { liveFigures } from '../../helpers/live-figures.ts';
import { page } from '../../helpers/pages.ts';

const text = await renderMetrics(liveFigures(1000));

function namesIn(metrics: string): string[] {
  return [...metrics.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string);
}

function seriesValue(name: string, label = ''): number {
  const line = text.split('\n').find((text) => text.startsWith(`${name}{`) && text.includes(label));
  return Number(line?.split('} ')[1]);
}

describe('/metrics', () => {
  it('/metrics serves the figures of the run in base units, labelled with the run', () => {
    for (const [value, name, label] of [
      [1000, 'connections', 'run="2026-01-02T03-04-05-5k"'],
      [2, 'failed_total', 'cause="http_503"'],
      [0, 'lost_total', 'cause=""'],
      [1999, 'receipts_total'],
      [0.0125, 'sentinel_latency_seconds'],
      [0.125, 'cpu_cores', 'layer="nginx"'],
      [900 * 1024 * 1024, 'memory_bytes', 'kind="used"'],
      [0.004, 'event_loop_delay_p99_seconds', 'loop="w0"'],
      [1, 'stage', 'stage="ramp"'],
    ] as const)
      assert.equal(seriesValue(`socketio_capacity_${name}`, label), value, name);
  });

  it('/metrics leaves out unknown values instead of showing 0', async () => {
    const delivery = { broadcasts: 2, expected: null, received: null };
    const samples = { ...liveFigures(1).samples, system: {} };
    const metrics = await renderMetrics(liveFigures(1, { delivery, latency: { sentinelMs: null }, samples }));
    const missing = namesIn(text).filter((name) => !namesIn(metrics).includes(name));
    const unknown = ['machine_cpu_ratio', 'receipts_expected_total', 'receipts_total', 'sentinel_latency_seconds'];
    assertEach(unknown, (name) => `socketio_capacity_${name}`, missing.sort());
  });

  it('/metrics serves every series of the table', () => {
    assert.deepEqual(namesIn(text), column(LIVE_METRICS, 'name'));
  });
});

it('the Grafana dashboard uses every series, and no unknown series or label', () => {
  const { panels } = JSON.parse(page('docs/public/grafana-dashboard.json')) as {
    panels: { targets: { expr: string }[] }[];
  };
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const used = expressions.flatMap((expr) => [...expr.matchAll(/(socketio_capacity_\w+)(?:\{([^}]*)\})?/g)]);
  for (const [, name, selector = ''] of used) {
    for (const [, label] of selector.matchAll(/(\w+)\s*=/g))
      assert.match(text, new RegExp(`^${name}\\{.*\\b${label}="`, 'm'));
  }
  assert.deepEqual([...new Set(used.map(([, name]) => name))].sort(), namesIn(text).sort());
});
