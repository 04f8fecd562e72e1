import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectingCounts } from '../../../plugin/fleet/process/counts/connecting.ts';
import { achievedRate, connectionFigures } from '../../../plugin/result/assemble-connections.ts';
import type { Ramp } from '../../../plugin/run/measurements/measured-windows.ts';
import { encoded, measurements, snapshot } from '../../helpers/measurements.ts';

describe('connections of several engines', () => {
  const { connectUs } = snapshot();
  const timed = (totalUs: number[], tcpUs: number[]) => ({
    connectUs: { ...connectUs, total: encoded(totalUs), tcp: encoded(tcpUs) },
    openings: { startedAtUs: 0, intervalUs: 100_000, counts: [5, 5, 5] },
  });
  const { connectMs, stagesMs, ...figures } = connectionFigures(
    measurements({
      configuredRatePerSec: 100,
      peakConnections: 3,
      ramps: [{ beganAtUs: 0, endedAtUs: 1e6, seconds: 0.3, connections: 30 }],
      snapshots: [
        snapshot({
          ...timed([1000, 3000], [100]),
          ...{ retries: 1, disconnects: { ping: 3 }, perWorker: { w0: 3 } },
          ...{ failures: { http_401: 2 }, failureExamples: { http_401: 'bad token' } },
        }),
        snapshot({
          ...timed([5000], []),
          ...{ retries: 2, disconnects: { ping: 2, transport: 1 }, perWorker: { w0: 1, w1: 4 } },
          ...{ failures: { http_401: 1, closed: 4 }, failureExamples: { http_401: 'another', closed: 'no answer' } },
        }),
      ],
    }),
  );

  it('sums retries, disconnects, failures and workers over engines, with the first example of each failure', () => {
    const { retries, disconnects, failures, failed, failureExamples, perWorker } = figures;
    assert.deepEqual([retries, disconnects], [3, { ping: 5, transport: 1 }]);
    assert.deepEqual([failed, failures], [7, { http_401: 3, closed: 4 }]);
    assert.deepEqual(failureExamples, { http_401: 'bad token', closed: 'no answer' });
    assert.deepEqual(perWorker, { w0: 4, w1: 4 });
  });

  it('merges the connect times of several engines into one distribution, and one for each measured stage', () => {
    assert.deepEqual([connectMs?.count, Math.round(connectMs?.p50 ?? 0)], [3, 3]);
    assert.deepEqual([Object.keys(stagesMs), stagesMs.tcp?.count], [['tcp'], 1]);
  });

  it('reports the achieved rate of connects beside the configured rate', () => {
    const { achievedRatePerSec, rampSeconds, configuredRatePerSec, peak } = figures;
    assert.deepEqual([achievedRatePerSec, rampSeconds, configuredRatePerSec, peak], [100, 0.3, 100, 3]);
  });

  it('reports no connect times and no rate if no connection was opened', () => {
    const nothing = connectionFigures(measurements({ snapshots: [snapshot()] }));
    assert.deepEqual([nothing.connectMs, nothing.achievedRatePerSec, nothing.rampSeconds], [null, null, null]);
  });
});

/** Returns the connections that a process opened in each tenth of a second. */
const openings = (counts: number[], startedAtUs = 0) => ({
  openings: { startedAtUs, intervalUs: 100_000, counts },
});

const ramp = (seconds: number, connections: number, changes: Partial<Ramp> = {}): Ramp => ({
  ...{ beganAtUs: 0, endedAtUs: Number.POSITIVE_INFINITY, seconds, connections },
  ...changes,
});

const times = (length: number, count: number): number[] => Array.from({ length }, () => count);

const STEADY = [openings(times(20, 5))];
const FROZEN = [openings([...times(40, 5), ...times(15, 0), 80, ...times(44, 5)])];
const REFUSED = [openings([...times(40, 5), ...times(16, 0), ...times(44, 5)])];
const HELD_UP = [openings([...times(40, 2), ...times(20, 0), 21])];
const TWO_RAMPS = [openings([...times(10, 10), ...times(50, 0), ...times(10, 10), ...times(30, 0), 7])];
const [early, late] = [openings([10, 10], 1_000_000), openings([10, 10], 1_500_000)];

const two = [ramp(1, 100, { endedAtUs: 1_500_000 }), ramp(1, 100, { beganAtUs: 6_000_000, endedAtUs: 8_000_000 })];
const nothing = [ramp(2, 100, { endedAtUs: 2_000_000 }), ramp(2, 100, { beganAtUs: 3_000_000 })];

describe('the achieved rate', () => {
  const CASES: [what: string, opened: typeof STEADY, ramps: Ramp[], perSec?: number, seconds?: number][] = [
    ['the achieved connect rate is the configured one where the ramp was steady', STEADY, [ramp(2, 100)], 50, 2],
    [
      'the achieved connect rate includes a freeze: 1.5 s without a connection, then the whole backlog',
      FROZEN,
      [ramp(10, 500)],
      50,
      10,
    ],
    ['the achieved connect rate excludes connections that failed while they waited', REFUSED, [ramp(10, 500)], 42, 10],
    // The rate is that of 101 connections: the last opened 6 s after the first, plus the time of one connection.
    [
      'the achieved connect rate is lower where a freeze held up the end of the ramp',
      HELD_UP,
      [ramp(2.02, 101)],
      101 / 6.06,
      6.06,
    ],
    [
      'the achieved connect rate never exceeds the configured one, however fast connections opened',
      [openings([60, 40])],
      [ramp(2, 100)],
      50,
      2,
    ],
    ['the achieved connect rate excludes pauses and reconnects after the last ramp', TWO_RAMPS, two, 100, 2],
    // The rate is that of 40 connections from 1.0 s to 1.6 s, plus the time of one connection.
    [
      'the achieved connect rate adds up processes that started at different times',
      [early, late],
      [ramp(0.4, 40)],
      65,
      40 / 65,
    ],
    ['the achieved connect rate adds up processes in any order', [late, early], [ramp(0.4, 40)], 65, 40 / 65],
    [
      'the achieved connect rate counts a connection from before its phase',
      STEADY,
      [ramp(2, 100, { beganAtUs: 150_000 })],
      50,
      2,
    ],
    ['the achieved connect rate includes a ramp in which no connection opened', STEADY, nothing, 25, 4],
    ['the achieved connect rate is unknown if no connection opened', [openings([])], [ramp(2, 100)]],
    ['the achieved connect rate is unknown if no ramp began', [openings([7])], []],
  ];
  for (const [what, opened, ramps, perSec, seconds] of CASES) {
    it(what, () => {
      assert.deepEqual(achievedRate(opened, ramps), perSec === undefined ? null : { perSec, seconds });
    });
  }

  it('counts a connection once if a ramp lasts longer than the pause after it', () => {
    const queued = openings(Array.from({ length: 150 }, (_, index) => (index % 5 === 0 ? 2 : 0)));
    const ramps = [ramp(3, 30, { endedAtUs: 9_500_000 }), ramp(3, 30, { beganAtUs: 6_000_000, endedAtUs: 18_000_000 })];
    const { perSec = 0, seconds = 0 } = achievedRate([queued], ramps) ?? {};
    assert.ok(perSec > 3.9 && perSec < 4.2 && seconds > 14, `${perSec}/s in ${seconds} s`);
  });

  it('the achieved connect rate never exceeds the configured one if connections reconnect', () => {
    const rate = achievedRate([openings([...times(20, 5), 30])], [ramp(2, 100)]);
    assert.ok((rate?.perSec ?? 99) <= 50);
  });
});

const overTimeOf = (changes: Parameters<typeof measurements>[0]) => connectionFigures(measurements(changes)).overTime;
const TIMINGS = { namespaceUs: 1 };
const SECOND = 1_000_000;

describe('connects over time', () => {
  it('sums the time series of connects over all fleets, from the start of the samples', () => {
    const [one, two] = [new ConnectingCounts(0), new ConnectingCounts(0)];
    one.opened(TIMINGS, SECOND / 2, 9000);
    one.opened(TIMINGS, 2.1 * SECOND, 2000);
    two.opened(TIMINGS, 2.2 * SECOND, 4000);
    one.overTime.failed.record(3.5 * SECOND);
    two.overTime.ended.record(4.5 * SECOND);
    const snapshots = [one, two].map((series) => snapshot({ connecting: series.snapshot().connecting }));
    assert.deepEqual(overTimeOf({ snapshots, samplesBeganAtUs: SECOND }), {
      ...{ intervalSeconds: 1, t: [0, 1, 2, 3], opened: [0, 2, 0, 0], failed: [0, 0, 1, 0], ended: [0, 0, 0, 1] },
      ...{ meanMs: [null, 3, null, null], slowestMs: [null, 4, null, null] },
    });
  });

  it('all time series of connects share one grid of intervals, even if only drops continue for long', () => {
    const series = new ConnectingCounts(0);
    series.opened(TIMINGS, 10.5 * SECOND, 1000);
    series.overTime.ended.record(300.5 * SECOND);
    const snapshots = [snapshot({ connecting: series.snapshot().connecting })];
    const figures = overTimeOf({ snapshots, samplesBeganAtUs: 0 });
    assert.equal(figures?.intervalSeconds, 2);
    assert.deepEqual([figures?.t[figures.opened.indexOf(1)], figures?.t[figures.ended.indexOf(1)]], [10, 300]);
  });

  it('the time series of connects has at most 200 intervals, however long the run is', () => {
    const series = new ConnectingCounts(0);
    for (let second = 0; second < 5000; second++) series.opened(TIMINGS, second * SECOND, second === 77 ? 9000 : 1000);
    const { opened, slowestUs } = series.snapshot().connecting;
    assert.ok(opened.counts.length <= 200);
    const sum = opened.counts.reduce((total, count) => total + count);
    assert.deepEqual([sum, Math.max(...slowestUs.counts)], [5000, 9000]);
  });

  it('the time series of connects is unknown for an unfinished run, and for other engines', () => {
    assert.equal(overTimeOf({ samplesBeganAtUs: 0 }), null);
    assert.equal(overTimeOf({ snapshots: [snapshot()] }), null);
  });
});
