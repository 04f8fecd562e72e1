import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clock, clockStep, short } from '../../../report/charts/axes.ts';
import { countBars } from '../../../report/charts/bars.ts';
import { broadcastTimes, coverageByBroadcast, roundTripsByBroadcast } from '../../../report/charts/broadcasts.ts';
import { memoryFit } from '../../../report/charts/memory-fit.ts';
import { cpuOverTime, memoryOverTime } from '../../../report/charts/over-time.ts';
import { oneWayPercentiles } from '../../../report/charts/percentiles.ts';
import { timeline } from '../../../report/charts/timeline.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

const measured = readResult('docs/reports/5k/result.json');

/** How many shapes have this colour. */
function marks(svg: string | undefined, color: string): number {
  return svg?.match(new RegExp(`(?:stroke|fill)="var\\(--${color}\\)"`, 'g'))?.length ?? 0;
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
    assert.match(chart?.wide ?? '', />hold<[\s\S]*>broadcasts</);
    assert.doesNotMatch(chart?.wide ?? '', />baseline</);
    assert.equal(marks(chart?.wide, 'strong-band'), 1);
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

describe('memoryFit', () => {
  it('draws the plateaus, the line, and its interval', () => {
    const svg = memoryFit(measured, 'workerPss')?.wide;
    assert.equal(svg?.match(/<polygon/g)?.length, 1);
    assert.equal(svg?.match(/fill="var\(--page\)"/g)?.length, measured.memory.plateaus.length);
  });

  it('draws memory in service as a dashed line, where it was read', () => {
    const result = perfectResult();
    assert.match(memoryFit(result, 'workerPss')?.wide ?? '', /stroke-dasharray/);
    assert.doesNotMatch(memoryFit(result, 'nginxPss')?.wide ?? '', /stroke-dasharray/);
    result.memory.inService = null;
    assert.doesNotMatch(memoryFit(result, 'workerPss')?.wide ?? '', /stroke-dasharray/);
  });

  it('has no interval of two plateaus, and no line of one', () => {
    const { memory, cpu } = perfectResult();
    const of = (count: number) =>
      memoryFit({ cpu, memory: { ...memory, plateaus: memory.plateaus.slice(0, count) } }, 'workerPss');
    assert.doesNotMatch(of(2)?.wide ?? '', /<polygon/);
    assert.equal(of(1), null);
    assert.equal(memoryFit({ cpu, memory }, 'noLayer'), null);
  });
});

describe('charts of broadcasts', () => {
  it('mark each broadcast once for each of first, p50, p99 and last', () => {
    const result = perfectResult();
    const svg = broadcastTimes(result)?.wide;
    for (const color of ['green', 'blue', 'orange', 'text']) assert.equal(marks(svg, color), 12, color);
    assert.equal(broadcastTimes({ ...result, delivery: null }), null);
  });

  it('let the loss of one receipt be seen', () => {
    const result = perfectResult();
    Object.assign(result.delivery?.batches[3] ?? {}, { received: 4999, lostConnected: 1 });
    const chart = coverageByBroadcast(result);
    assert.deepEqual(
      chart?.legend.map(({ name }) => name),
      ['Received', 'Lost, connected'],
    );
    assert.equal(marks(chart?.wide, 'red'), 1);
    assert.equal(marks(coverageByBroadcast(perfectResult())?.wide, 'red'), 0);
  });

  it('show each round trip where the result has them', () => {
    const result = perfectResult();
    assert.equal(roundTripsByBroadcast(result), null);
    result.latency.roundTripHalfMs.eachMs = { underLoad: [10, 12, 11], single: [0.4, 0.5] };
    const svg = roundTripsByBroadcast(result)?.wide;
    assert.ok(marks(svg, 'orange') >= 4 && marks(svg, 'blue') >= 3);
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
    const svg = countBars('failures', { ECONNREFUSED: 1234, '<b>': 1 })?.wide ?? '';
    assert.match(svg, />1,234</);
    assert.match(svg, />&lt;b&gt;</);
    assert.equal(countBars('none', {}), null);
  });
});
