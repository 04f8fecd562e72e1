import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clock, clockStep, short } from '../../../report/charts/axes.ts';
import { countBars } from '../../../report/charts/bars.ts';
import type { Chart, Readout } from '../../../report/charts/chart.ts';
import { connectTimeOverTime } from '../../../report/charts/connecting.ts';
import { deliveredByBroadcast } from '../../../report/charts/delivery.ts';
import { readingsOverTime } from '../../../report/charts/drift.ts';
import { connectionsBack } from '../../../report/charts/fault.ts';
import {
  broadcastTimes,
  latencyByConnections,
  oneWayPercentiles,
  roundTripsByBroadcast,
} from '../../../report/charts/latency.ts';
import { memoryByConnections } from '../../../report/charts/memory.ts';
import { cpuOverTime, memoryOverTime } from '../../../report/charts/over-time.ts';
import { curvesReadout } from '../../../report/charts/readout.ts';
import { timeline } from '../../../report/charts/timeline.ts';
import { workersOverTime } from '../../../report/charts/workers.ts';
import { readResult } from '../../../report/read.ts';
import { draw } from '../../../report/render/draw.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, summaryOf } from '../../helpers/results.ts';
import { waves } from '../../helpers/waves.ts';

const measured = readResult('docs/reports/5k/result.json');

function svgOf(chart: Chart | null): string {
  return chart ? draw(chart).wide : '';
}

/** How many shapes have this colour. */
function marks(chart: Chart | null, color: string): number {
  return svgOf(chart).match(new RegExp(`(?:stroke|fill)="var\\(--${color}\\)"`, 'g'))?.length ?? 0;
}

describe('axes', () => {
  it('count time as clocks do', () => {
    assert.deepEqual([0, 9.6, 75, 3661].map(clock), ['0:00', '0:10', '1:15', '1:01:01']);
    assert.equal(clockStep(230, 10), 30);
    assert.equal(clockStep(1_000_000, 10), 100_800);
    assert.deepEqual([0.25, 9999, 12_500].map(short), ['0.25', '9,999', '12.5k']);
  });
});

describe('timeline', () => {
  const curve = {
    name: 'one',
    color: 'var(--blue)',
    points: [
      [0, 1],
      [10, 2],
    ] as [number, number][],
  };

  it('names the stages that have room, and shades what lasts', () => {
    const stages = [
      { name: 'baseline', t: 0 },
      { name: 'hold', t: 0.1 },
      { name: 'broadcasts', t: 5 },
    ];
    const chart = timeline({ title: 'a chart', stages, panels: [{ unit: 'MB', curves: [curve] }] });
    assert.match(svgOf(chart), />hold<[\s\S]*>broadcasts</);
    assert.doesNotMatch(svgOf(chart), />baseline</);
    assert.equal(marks(chart, 'strong-band'), 1);
  });

  it('has PSS over time, or RSS where PSS is not a curve', () => {
    const samples = [0, 1, 2].map((t) => ({
      t,
      connections: 0,
      worker: { rssBytes: 2e6, ...(t < 1 && { pssBytes: 1e6 }) },
    }));
    const chart = memoryOverTime({ ...perfectResult(), samples });
    assert.equal(chart?.title, 'Memory (RSS) by layer over time');
    assert.equal(memoryOverTime(measured)?.title, 'Memory (PSS) by layer over time');
  });

  it('is nothing where nothing was sampled', () => {
    assert.equal(timeline({ title: '', stages: [], panels: [{ unit: '', curves: [{ ...curve, points: [] }] }] }), null);
    assert.equal(cpuOverTime(perfectResult()), null);
  });
});

describe('memory against connections', () => {
  it('has all layers of the deployment on one scale from zero, and the workers also in service', () => {
    const chart = memoryByConnections(measured);
    const names = chart?.legend.map(({ name }) => name) ?? [];
    assert.ok(names.includes('Workers PSS at rest') && names.includes('nginx PSS at rest'), String(names));
    assert.ok(!names.some((name) => /Generator|machine/.test(name)), String(names));
    assert.equal(names.at(-1), 'Workers PSS in service');
    assert.match(svgOf(chart), />0<[\s\S]*stroke-dasharray/);
  });

  it('is nothing with a single reading', () => {
    const result = perfectResult();
    result.memory.inService = null;
    assert.doesNotMatch(svgOf(memoryByConnections(result)), /stroke-dasharray/);
    result.memory.plateaus = result.memory.plateaus.slice(0, 1);
    assert.equal(memoryByConnections(result), null);
  });
});

describe('charts of broadcasts', () => {
  it('mark each broadcast once for each of first, p50, p99 and last', () => {
    const result = perfectResult();
    const chart = broadcastTimes(result);
    for (const color of ['green', 'blue', 'orange', 'text']) assert.equal(marks(chart, color), 12, color);
    assert.equal(broadcastTimes({ ...result, delivery: null }), null);
  });

  it('let the loss of one receipt be seen', () => {
    const result = perfectResult();
    Object.assign(result.delivery?.batches[3] ?? {}, { received: 4999, lostConnected: 1 });
    const chart = deliveredByBroadcast(result);
    assert.deepEqual(
      chart?.legend.map(({ name }) => name),
      ['Received', 'Lost, connected'],
    );
    assert.equal(marks(chart, 'red'), 1);
    assert.equal(marks(deliveredByBroadcast(perfectResult()), 'red'), 0);
  });

  it('show each round trip where the result has them', () => {
    const result = perfectResult();
    assert.equal(roundTripsByBroadcast(result), null);
    result.latency.roundTripHalfMs.eachMs = { underLoad: [10, 12, 11], single: [0.4, 0.5] };
    const all = roundTripsByBroadcast(result);
    assert.ok(marks(all, 'orange') >= 3 && marks(all, 'blue') >= 2);
    result.latency.roundTripHalfMs.publishers = { underLoad: ['w0', 'w1', 'w0'], single: ['w0', 'w0'] };
    const { legend, readout } = roundTripsByBroadcast(result) ?? {};
    assert.deepEqual(
      legend?.map(({ name }) => name),
      ['Under load, by w0', 'Under load, by w1', 'Unloaded'],
    );
    assert.deepEqual(readout?.series[1]?.values, [null, 12, null], 'each by its own worker');
  });
});

describe('the values of a chart', () => {
  const text = ({ at, labels, series }: Readout) => ({ at, labels, values: series.map(({ values }) => values) });

  it('are those of the densest curve’s points, with the nearest of the others, and none in a gap', () => {
    const curve = (points: [number, number][]) => ({ name: '', color: '', unit: '', points });
    const curves = [
      curve([
        [0, 1],
        [5, Number.NaN],
        [10, 3.00004],
      ]),
      curve([[10.5, 12345.6]]),
    ];
    const readout = curvesReadout({ left: 0, right: 0, from: 0, to: 20 }, curves, (x) => `${x} s`);
    assert.deepEqual(text(readout), {
      at: [0, 0.5],
      labels: ['0 s', '10 s'],
      values: [
        [1, 3],
        [null, 12346],
      ],
    });
  });

  it('name the time and the stage, and each broadcast', () => {
    const { readout } = cpuOverTime(measured) ?? {};
    assert.ok(readout?.labels.some((label) => /^\d:\d\d, broadcasts$/.test(label)));
    assert.equal(readout?.series[0]?.values.length, readout?.at.length);
    assert.equal(broadcastTimes(perfectResult())?.readout?.labels[0], 'broadcast 1, 1:30');
    assert.equal(broadcastTimes(measured)?.readout?.labels[0], 'broadcast 1');
  });
});

describe('connecting over time', () => {
  const overTime = {
    intervalSeconds: 1,
    t: [10, 11, 12, 13],
    opened: [5, 5, 0, 5],
    meanMs: [2, 3, null, 4],
    slowestMs: [4, 6, null, 8],
    failed: [0, 0, 0, 0],
    ended: [0, 0, 0, 0],
  };
  const resultOf = (changes: object = {}) => {
    const result = perfectResult();
    result.connections.overTime = { ...overTime, ...changes };
    return result;
  };

  it('has a panel of errors only where there were some, and is nothing in older results', () => {
    assert.equal(connectTimeOverTime(perfectResult()), null);
    assert.equal(marks(connectTimeOverTime(resultOf()), 'red'), 0);
    const failing = connectTimeOverTime(resultOf({ failed: [0, 7, 0, 0] }));
    assert.equal(failing?.title, 'Connect time and errors over time');
    assert.ok(marks(failing, 'red') > 0);
  });
});

describe('workersOverTime', () => {
  const worker = (name: string, percent: number) => ({
    worker: name,
    process: { t: [0, 1], rssBytes: [1e8, 2e8], cpuPercent: [null, percent] },
    eventLoop: { t: [1, 2], delayP99Ms: [1, 2], delayMaxMs: [percent, percent] },
  });

  it('has a curve for each worker, and of many the extremes', () => {
    const names = (count: number) => {
      const workers = Array.from({ length: count }, (_, index) => worker(`w${index}`, index));
      return workersOverTime({ ...perfectResult(), workersOverTime: workers })?.legend.map(({ name }) => name);
    };
    assert.deepEqual(names(2), ['w0', 'w1']);
    assert.deepEqual(names(20), ['Highest of all', 'Median', 'Lowest of all']);
    assert.equal(names(0), undefined);
  });
});

describe('oneWayPercentiles', () => {
  it('needs a histogram that can be read', () => {
    assert.equal(oneWayPercentiles(measured)?.legend.length, 3);
    const { latency } = perfectResult();
    assert.equal(
      oneWayPercentiles({ ...measured, latency: { ...latency, histograms: { oneWayLocal: 'AAAA' } } }),
      null,
    );
  });
});

describe('countBars', () => {
  it('writes each number behind its bar', () => {
    const svg = svgOf(countBars('failures', { ECONNREFUSED: 1234, '<b>': 1 }));
    assert.match(svg, />1,234</);
    assert.match(svg, />&lt;b&gt;</);
    assert.equal(countBars('none', {}), null);
  });
});

describe('other charts', () => {
  it('have a curve for each thing that they show, and are nothing where there is nothing', () => {
    const levels = [5000, 3750, 2500].map((connections) => ({
      ...{ connections, broadcasts: 6, expected: 1, received: 1, lost: 0 },
      ...{ oneWayMs: summaryOf(6, connections / 100), completionMs: summaryOf(6, connections / 50) },
    }));
    const result = perfectResult();
    assert.equal(latencyByConnections(result), null);
    result.latency.byConnections = levels;
    const { labels, series } = latencyByConnections(result)?.readout ?? {};
    assert.equal(labels?.at(-1), '5,000 connections');
    assert.deepEqual(
      series?.map(({ values }) => values),
      [
        [50, 75, 100],
        [25, 37.5, 50],
      ],
    );
    const names = (chart: Chart | null) => chart?.legend.map(({ name }) => name);
    assert.deepEqual(names(readingsOverTime(waves())), ['all connected', 'all have left', 'memory']);
    assert.equal(readingsOverTime(perfectResult()), null);
    assert.equal(connectionsBack({ ...result, fault: plannedFault() })?.legend.length, 3);
    assert.equal(connectionsBack({ ...result, fault: plannedFault({ dropped: 0 }) }), null);
  });
});
