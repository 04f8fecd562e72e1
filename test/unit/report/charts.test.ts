import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync, inflateSync } from 'node:zlib';
import { clockText, clockTicks, shortNumber } from '../../../report/charts/axes.ts';
import type { Chart } from '../../../report/charts/chart.ts';
import { broadcastTimesChart, oneWayLatencyChart } from '../../../report/charts/latency-chart.ts';
import { memoryByConnectionsChart } from '../../../report/charts/memory-chart.ts';
import {
  connectTimeOverTimeChart,
  cpuOverTimeChart,
  memoryOverTimeChart,
  memoryReadingsChart,
  reconnectChart,
} from '../../../report/charts/over-time-chart.ts';
import { chartReadout, plotTimeline } from '../../../report/charts/plot.ts';
import { workersChart } from '../../../report/charts/workers-chart.ts';
import { readResult } from '../../../report/read.ts';
import { chartSvg } from '../../../report/render/blocks.ts';
import { column } from '../../helpers/columns.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult } from '../../helpers/results.ts';
import { waves } from '../../helpers/waves.ts';

const measured = readResult('docs/reports/5k/result.json');

function svgOf(chart: Chart | null): string {
  return chart ? chartSvg(chart).wide : '';
}

/** Returns the number of shapes with this colour. */
function marks(chart: Chart | null, color: string): number {
  return svgOf(chart).match(new RegExp(`(?:stroke|fill)="var\\(--${color}\\)"`, 'g'))?.length ?? 0;
}

const names = (chart: Chart | null) => chart?.legend.map(({ name }) => name);

it('chart axes show times in minutes and seconds, as clocks do', () => {
  assert.deepEqual([0, 9.6, 75, 3661].map(clockText), ['0:00', '0:10', '1:15', '1:01:01']);
  assert.deepEqual(clockTicks(20, 110, 240), [30, 60, 90]);
  assert.deepEqual(clockTicks(0, 1_000_000, 300), [0, 201_600, 403_200, 604_800, 806_400]);
  assert.deepEqual([0.25, 9999, 12_500].map(shortNumber), ['0.25', '9,999', '12.5k']);
});

describe('charts over time', () => {
  const samplesOf = (layersAt: (t: number) => object) => ({
    ...perfectResult(),
    samples: [0, 5, 10].map((t) => ({ t, connections: 0, ...layersAt(t) })),
  });

  it('charts over time label wide stages of the run, and shade long stages', () => {
    const stages = Object.entries({ baseline: 0, hold: 0.1, broadcasts: 5 }).map(([name, t]) => ({ name, t }));
    const points = [0, 10].map((x): [number, number] => [x, 1 + x / 10]);
    const curve = { name: 'one', color: 'var(--blue)', points };
    const chart = plotTimeline('a chart', stages, [{ unit: 'MB', curves: [curve] }]);
    assert.match(svgOf(chart), />hold<[\s\S]*>broadcasts</);
    assert.doesNotMatch(svgOf(chart), />baseline</);
    assert.equal(marks(chart, 'strong-band'), 1);
    assert.equal(plotTimeline('', [], [{ unit: '', curves: [{ ...curve, points: [] }] }]), null);
    assert.equal(cpuOverTimeChart(perfectResult()), null);
  });

  it('the chart of memory over time shows PSS, or RSS if PSS has too few values for a curve', () => {
    const once = samplesOf((t) => ({ worker: { rssBytes: 2e6, ...(t < 1 && { pssBytes: 1e6 }) } }));
    assert.match(memoryOverTimeChart(once)?.title ?? '', /RSS/);
    assert.match(memoryOverTimeChart(measured)?.title ?? '', /PSS/);
  });

  it('the chart of CPU over time shows other programs and the hypervisor if they used CPU', () => {
    const chart = (others: number, steal: number) => {
      const ofOthers = { others: { cpuPercent: others }, steal: { cpuPercent: steal } };
      const ofUs = { system: { cpuPercent: 50 }, worker: { cpuPercent: 30 } };
      return names(cpuOverTimeChart(samplesOf((t) => ({ ...ofUs, ...(t > 0 && ofOthers) }))))?.slice(2);
    };
    assert.deepEqual(chart(0.5, 0), []);
    assert.deepEqual(chart(60, 0), ['Other programs']);
    assert.deepEqual(chart(60, 24), ['Other programs', 'Hypervisor (steal)']);
  });

  it('the chart of connects has a panel of errors only if errors occurred, and is absent in older results', () => {
    const chart = (...failed: number[]) => {
      const result = perfectResult();
      const counts = { opened: [5, 5, 0, 5], failed, ended: [0, 0, 0, 0] };
      const times = { meanMs: [2, 3, null, 4], slowestMs: [4, 6, null, 8] };
      result.connections.overTime = { intervalSeconds: 1, t: [10, 11, 12, 13], ...counts, ...times };
      return connectTimeOverTimeChart(result);
    };
    assert.equal(connectTimeOverTimeChart(perfectResult()), null);
    assert.equal(marks(chart(0, 0, 0, 0), 'red'), 0);
    assert.ok(marks(chart(0, 7, 0, 0), 'red') > 0);
  });

  it('the chart of workers has a curve for each, or only their extremes if there are many', () => {
    const shown = (count: number) => {
      const workers = Array.from({ length: count }, (_, index) => ({
        worker: `w${index}`,
        process: { t: [0, 1, 2], rssBytes: [1e8, 2e8, 2e8], cpuPercent: [null, index, index] },
        eventLoop: { t: [1, 2], delayP99Ms: [1, 2], delayMaxMs: [index, index] },
      }));
      return names(workersChart({ ...perfectResult(), workersOverTime: workers }));
    };
    assert.deepEqual([shown(2), shown(20)?.length, shown(0)], [['w0', 'w1'], 3, undefined]);
  });

  it('runs with waves or a fault have an additional chart, and other runs have none', () => {
    const result = perfectResult();
    assert.equal(memoryReadingsChart(waves())?.legend.length, 3);
    assert.equal(memoryReadingsChart(result), null);
    assert.equal(reconnectChart({ ...result, fault: plannedFault() })?.legend.length, 3);
    assert.equal(reconnectChart({ ...result, fault: plannedFault({ dropped: 0 }) }), null);
  });
});

it('the chart of memory against connections shows all layers, and the workers also in service', () => {
  const chart = memoryByConnectionsChart(measured);
  const shown = names(chart) ?? [];
  assert.ok(shown.includes('Workers PSS at rest') && shown.includes('nginx RSS at rest'), String(shown));
  assert.ok(!shown.some((name) => /Generator|machine/.test(name)), String(shown));
  assert.equal(shown.at(-1), 'Workers PSS in service');
  assert.match(svgOf(chart), />0<[\s\S]*stroke-dasharray/);
  const result = perfectResult();
  result.memory.inService = null;
  assert.doesNotMatch(svgOf(memoryByConnectionsChart(result)), /stroke-dasharray/);
  result.memory.plateaus = result.memory.plateaus.slice(0, 1);
  assert.equal(memoryByConnectionsChart(result), null);
});

describe('charts of copies', () => {
  it('charts of copies mark first, p50, p99 and last copy of each broadcast', () => {
    const result = perfectResult();
    const chart = broadcastTimesChart(result);
    for (const color of ['green', 'blue', 'orange', 'text']) assert.equal(marks(chart, color), 12, color);
    assert.equal(broadcastTimesChart({ ...result, delivery: null }), null);
  });

  it('the chart of copies draws a curve by percentile only from a histogram that can be decoded', () => {
    assert.equal(oneWayLatencyChart(measured)?.legend.length, 3);
    const { latency } = perfectResult();
    // Appends so many zero bytes to a valid histogram that decompressing it would exhaust memory.
    const real = Buffer.from(measured.latency.histograms.oneWayLocal ?? '', 'base64');
    const [head, body] = [real.subarray(0, 8), real.subarray(8)];
    const bomb = deflateSync(Buffer.concat([inflateSync(body), Buffer.alloc(2 ** 21)]));
    head.writeInt32BE(bomb.length, 4);
    for (const oneWayLocal of ['AAAA', Buffer.concat([head, bomb]).toString('base64')]) {
      const broken = { ...latency, histograms: { oneWayLocal } };
      assert.equal(oneWayLatencyChart({ ...measured, latency: broken }), null);
    }
  });
});

describe('the readout of a chart', () => {
  it('the readout of a chart follows the densest curve, with the nearest values of others, and none in a gap', () => {
    const curve = (...points: [number, number][]) => ({ name: '', color: '', unit: '', points });
    const curves = [curve([0, 1], [5, Number.NaN], [10, 3.00004]), curve([10.5, 12345.6])];
    const { at, labels, series } = chartReadout({ from: 0, to: 20, label: (x) => `${x} s` }, curves);
    const [first, second] = column(series, 'values') ?? [];
    assert.deepEqual({ at, labels }, { at: [0, 0.5], labels: ['0 s', '10 s'] });
    assert.deepEqual({ first, second }, { first: [1, 3], second: [null, 12346] });
  });

  it('the readout of a chart shows the time and the stage, and each broadcast', () => {
    const { readout } = cpuOverTimeChart(measured) ?? {};
    assert.ok(readout?.labels.some((label) => /^\d:\d\d, broadcasts$/.test(label)));
    assert.equal(readout?.series[0]?.values.length, readout?.at.length);
    assert.equal(broadcastTimesChart(perfectResult())?.readout?.labels[0], 'broadcast 1, 1:30');
    const older = perfectResult();
    for (const batch of older.delivery?.batches ?? []) batch.t = null;
    assert.equal(broadcastTimesChart(older)?.readout?.labels[0], 'broadcast 1');
  });
});
