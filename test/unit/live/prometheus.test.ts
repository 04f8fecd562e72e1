import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { renderMetrics, SERIES } from '../../../plugin/live/series.ts';
import { liveFigures } from '../../helpers/live-figures.ts';
import { ROOT } from '../../helpers/pages.ts';

const text = await renderMetrics(liveFigures(1000));

function namesIn(metrics: string): string[] {
  return [...metrics.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string);
}

function seriesValue(name: string, label = ''): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name}{`) && one.includes(label));
  return Number(line?.split('} ')[1]);
}

describe('/metrics', () => {
  it('has the figures of the run, in base units, labelled with it', () => {
    assert.equal(seriesValue('socketio_capacity_connections', 'run="2026-01-02T03-04-05-5k"'), 1000);
    assert.equal(seriesValue('socketio_capacity_failed_total', 'cause="http_503"'), 2);
    assert.equal(seriesValue('socketio_capacity_lost_total', 'cause=""'), 0);
    assert.equal(seriesValue('socketio_capacity_receipts_total'), 1999);
    assert.equal(seriesValue('socketio_capacity_sentinel_latency_seconds'), 0.0125);
    assert.equal(seriesValue('socketio_capacity_cpu_cores', 'layer="nginx"'), 0.125);
    assert.equal(seriesValue('socketio_capacity_memory_bytes', 'kind="used"'), 900 * 1024 * 1024);
    assert.equal(seriesValue('socketio_capacity_event_loop_delay_p99_seconds', 'loop="w0"'), 0.004);
    assert.equal(seriesValue('socketio_capacity_stage', 'stage="ramp"'), 1);
  });

  it('leaves out what is not known, in place of a zero', async () => {
    const broadcasts = { planned: 20, sent: 2, expected: null, received: null, sentinelMs: null };
    const metrics = await renderMetrics(liveFigures(1, { broadcasts, system: {} }));
    const gone = namesIn(text).filter((name) => !namesIn(metrics).includes(name));
    assert.deepEqual(gone.sort(), [
      'socketio_capacity_machine_cpu_ratio',
      'socketio_capacity_receipts_expected_total',
      'socketio_capacity_receipts_total',
      'socketio_capacity_sentinel_latency_seconds',
    ]);
  });

  it('has every series of the table', () => {
    assert.deepEqual(
      namesIn(text),
      SERIES.map(({ name }) => name),
    );
  });
});

interface Panel {
  targets: { expr: string }[];
}

describe('the Grafana dashboard', () => {
  const dashboard = JSON.parse(readFileSync(join(ROOT, 'docs/public/grafana-dashboard.json'), 'utf8'));
  const panels = dashboard.panels as Panel[];

  it('asks only for series that there are, with labels that they have, and for all of them', () => {
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const asked = expressions.flatMap((expr) => [...expr.matchAll(/(socketio_capacity_\w+)(?:\{([^}]*)\})?/g)]);
    for (const [whole, name = '', selector = ''] of asked) {
      assert.ok(namesIn(text).includes(name), whole);
      for (const [, label] of selector.matchAll(/(\w+)\s*=/g))
        assert.match(text, new RegExp(`^${name}\\{.*\\b${label}="`, 'm'));
    }
    assert.deepEqual([...new Set(asked.map(([, name]) => name))].sort(), namesIn(text).sort());
  });
});
