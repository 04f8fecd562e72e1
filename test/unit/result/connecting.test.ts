import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Connecting } from '../../../plugin/fleet/process/counts/connecting.ts';
import { connectingOverTime } from '../../../plugin/result/connections/connecting.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';

const TIMINGS = { namespaceUs: 1 };
const SECOND = 1_000_000;

describe('connecting over time', () => {
  it('adds up the fleets from the start of the samples on', () => {
    const [one, two] = [new Connecting(0), new Connecting(0)];
    one.opened(TIMINGS, SECOND / 2, 9000);
    one.opened(TIMINGS, 2.1 * SECOND, 2000);
    two.opened(TIMINGS, 2.2 * SECOND, 4000);
    one.failed(3.5 * SECOND);
    two.ended(4.5 * SECOND);
    const snapshots = [one, two].map((series) => snapshot({ connecting: series.snapshot().connecting }));
    assert.deepEqual(connectingOverTime(measurements({ snapshots, samplesBeganAtUs: SECOND })), {
      intervalSeconds: 1,
      t: [0, 1, 2, 3],
      opened: [0, 2, 0, 0],
      meanMs: [null, 3, null, null],
      slowestMs: [null, 4, null, null],
      failed: [0, 0, 1, 0],
      ended: [0, 0, 0, 1],
    });
  });

  it('has all series on one grid, also where only drops go on for long', () => {
    const series = new Connecting(0);
    series.opened(TIMINGS, 10.5 * SECOND, 1000);
    series.ended(300.5 * SECOND);
    const snapshots = [snapshot({ connecting: series.snapshot().connecting })];
    const figures = connectingOverTime(measurements({ snapshots, samplesBeganAtUs: 0 }));
    assert.equal(figures?.intervalSeconds, 2);
    assert.deepEqual([figures?.t[figures.opened.indexOf(1)], figures?.t[figures.ended.indexOf(1)]], [10, 300]);
  });

  it('stays short, however long the run is', () => {
    const series = new Connecting(0);
    for (let second = 0; second < 5000; second++) series.opened(TIMINGS, second * SECOND, second === 77 ? 9000 : 1000);
    const { opened, slowestUs } = series.snapshot().connecting;
    assert.ok(opened.counts.length <= 200);
    assert.equal(
      opened.counts.reduce((sum, count) => sum + count),
      5000,
    );
    assert.equal(Math.max(...slowestUs.counts), 9000);
  });

  it('is not known of a run that has not ended, and of engines that do not tell', () => {
    assert.equal(connectingOverTime(measurements({ samplesBeganAtUs: 0 })), null);
    assert.equal(connectingOverTime(measurements({ snapshots: [snapshot()] })), null);
  });
});
