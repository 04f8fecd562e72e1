import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { stalledWorkers } from '../../../report/figures/stalls.ts';
import { sent } from '../../helpers/measurements.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, type Change, set, testCases, verdictOf } from '../../helpers/verdict.ts';

const FEW = { p90: null, p95: null, p99: null, p999: null };

/** Changes the event loops of one kind. */
function loops({ generator }: Result, window: string, part: string, changes: object): void {
  for (const loop of generator) if (loop.window === window && loop.part === part) Object.assign(loop, changes);
}

describe('a lag behind a reference receiver that is served after 200 ms', () => {
  const lag =
    (behindMs: number, change: Change = () => {}): Change =>
    (result, measured) => {
      result.latency.sentinelMs = summaryOf(20, 200);
      result.latency.behindSentinelMs = { ...summaryOf(6, behindMs), ...FEW, max: behindMs };
      result.latency.completionMs = { ...summaryOf(20, 600), ...FEW, max: 640 };
      change(result, measured);
    };
  const stalled =
    (delayMaxMs: number, window: string, part: string): Change =>
    (result) =>
      loops(result, window, part, { delayMaxMs });

  /** Returns a run whose lag has a p99 of four times the median. */
  const byMedian = (medianMs: number, sentinelMs: number, delayMaxMs: number) =>
    lag(0, (result, measured) => {
      const times = { sentinelMs: summaryOf(20, sentinelMs), behindSentinelMs: summaryOf(6, medianMs) };
      Object.assign(result.latency, times);
      stalled(delayMaxMs, 'broadcasts', 'fleet')(result, measured);
    });

  const noCpu: Change = ({ machine, generator }) => {
    Object.assign(machine ?? {}, { cpuIdlePercent: { ramp: 50, broadcasts: 4 } });
    for (const loop of generator) loop.cpuWaitShare = 0.5;
  };
  const broadcasts = { cores: 0.12, periods: 100, throttledPeriods: 40, throttledMs: 51_200 };
  const throttled = set('machine', { throttled: { ramp: null, messages: null, broadcasts } });

  testCases([
    ['a lag of 400 ms without a stalled loop', lag(396)],
    ['a lag of 2 s without a stalled loop', lag(1960)],
    ['lag after a garbage collection', lag(396, stalled(197, 'broadcasts', 'fleet'))],
    ['lag after a stall in the ramp', lag(396, stalled(400, 'ramp', 'fleet'))],
    ['lag after a stall of a thread that does not receive', lag(396, stalled(400, 'broadcasts', 'artillery'))],
    ['lag after a shorter stall', lag(396, stalled(198, 'broadcasts', 'fleet')), 'GENERATOR_LATE', '396 ms', '198 ms'],
    ['lag without times of the reference receiver', lag(396, ({ latency }) => (latency.sentinelMs = null))],
    ['lag without a measured lag', lag(396, ({ latency }) => (latency.behindSentinelMs = null))],
    ['lag on a machine without idle CPU, the cause', lag(396, noCpu), 'MACHINE_SATURATED'],
    ['lag in a container without CPU', lag(396, throttled), 'MACHINE_SATURATED'],
    ['lag that is small by the median', byMedian(12, 40, 50)],
    [
      'lag that is large by the median',
      byMedian(20, 40, 50),
      'GENERATOR_LATE',
      '80.0 ms',
      '40.0 ms',
      'fleet process 0',
    ],
    ['lag that is a small share of a high latency', byMedian(50, 1000, 150)],
    ['lag that is a large share of a high latency', byMedian(50, 700, 150), 'GENERATOR_LATE', '200 ms', '700 ms'],
  ]);
});

describe('a single stall of a fleet process', () => {
  /** Returns a run in which a process stalls. All other event loops stay at their median. */
  const stall =
    (window: string, delayMaxMs: number, times: object, part = 'fleet'): Change =>
    (result) => {
      const flat = { ...summaryOf(200, 3), ...FEW, max: 10 };
      result.connections.connectMs = { ...flat, ...(window === 'ramp' && times) };
      result.latency.completionMs = { ...flat, ...(window === 'broadcasts' && times) };
      loops(result, window, part, { delayMaxMs });
    };

  const onHost: Change = (result, measured) => {
    stall('broadcasts', 60, { max: 410 })(result, measured);
    const loop = result.generator.find(({ window, part }) => window === 'broadcasts' && part === 'fleet');
    if (loop) result.generator.push({ ...loop, index: 7, delayMaxMs: 400, host: 'b' });
  };
  const percentiles = { p90: 6, p95: 11, p99: 266, max: 366 };
  const late = ['397 ms', '266 ms', 'p99', '3 ms'];
  const withLag: Change = (result, measured) => {
    stall('broadcasts', 400, { max: 410 })(result, measured);
    loops(result, 'broadcasts', 'fleet', { delayP99Ms: 60 });
  };

  testCases([
    [
      'stall of a fleet process visible in a percentile',
      stall('broadcasts', 397, percentiles),
      'GENERATOR_LATE',
      ...late,
    ],
    [
      'stall of a fleet process visible in the maximum',
      stall('broadcasts', 395, { p90: 6, max: 414 }),
      'GENERATOR_LATE',
      '414 ms',
      'max',
    ],
    ['stall in a ramp', stall('ramp', 800, { p99: 8, max: 790 }), 'GENERATOR_LATE', '790 ms', 'ramp'],
    ['stall of one process of several, on its host', onHost, 'GENERATOR_LATE', 'fleet process 7 on b', '400 ms'],
    // Published results: 32,000 connections with TLS, 100,800 connections, and 1,000 connections with polling.
    ['stall below half of the times in one process', stall('broadcasts', 323, { p50: 848, p99: 1230, max: 1238 })],
    ['stall below half of the times in another process', stall('broadcasts', 663, { p50: 3580, max: 4583 })],
    ['stall with times hardly above their median', stall('broadcasts', 61, { p50: 81, p99: 118, max: 151 })],
    ['stall below half of the connect times', stall('ramp', 106, { p99: 346, max: 639 })],
    ['stall without a copy that waited', stall('broadcasts', 2000, { max: 40 })],
    ['short', stall('broadcasts', 50, { max: 60 })],
    ['stall of a thread that does not receive', stall('broadcasts', 400, { max: 410 }, 'artillery')],
    [
      'stall of a fleet process in the only broadcast',
      stall('broadcasts', 400, { count: 1, p50: 390, max: 390 }),
      'GENERATOR_LATE',
      '390 ms',
    ],
    [
      'stall of a fleet process during the only broadcast, which was fast',
      stall('broadcasts', 400, { count: 1, p50: 39, max: 39 }),
    ],
    ['stall of a fleet process inside the lag that it causes', withLag, 'GENERATOR_LATE', '60 ms'],
  ]);

  it('reports no stall of a fleet process beside the lag that it causes', () => {
    assert.doesNotMatch(verdictOf(withLag).findings[0]?.message ?? '', /410/);
  });
});

describe('a stalled worker', () => {
  const stages = Object.entries({ ramp: 10, plateau: 14, hold: 20, broadcasts: 30 }).map(([name, t]) => ({ name, t }));
  /**
   * Returns a run in which the second of two workers stalls until second `t`. `max` has the longest time of each kind.
   */
  const stalled = (ms: number, t: number, max: { connect?: number; last?: number }) => {
    const result = perfectResult();
    const loop = (worker: string, delayMaxMs: number[]) => ({
      ...{ worker, process: null },
      eventLoop: { t: [t - 1, t], delayP99Ms: [1, 1], delayMaxMs },
    });
    Object.assign(result, { stages, workersOverTime: [loop('w0', [20, 20]), loop('w1', [20, ms])] });
    result.connections.connectMs = { ...summaryOf(5000, 4), max: max.connect ?? 20 };
    result.latency.completionMs = { ...summaryOf(12, 30), ...FEW, max: max.last ?? 70 };
    return result;
  };
  const reportedStalls = (...given: Parameters<typeof stalled>) =>
    stalledWorkers(stalled(...given)).map(({ message }) => message);

  it('a stalled worker explains a missed rate of the same ramp', () => {
    const { findings } = verdictOf((result) => {
      Object.assign(result, stalled(2003, 13, { connect: 1950 }));
      Object.assign(result.connections, { achievedRatePerSec: 40, configuredRatePerSec: 50 });
    });
    assert.deepEqual([findings[0]?.code, findings[0]?.explains], ['WORKER_STALLED', ['RATE_NOT_REACHED']]);
    assertNames(findings[0]?.message, ['w1', '2,003']);
  });

  it('a stalled worker explains late broadcasts of the same window', () => {
    const { findings } = verdictOf((result, measured) => {
      Object.assign(result, stalled(700, 33, { last: 720 }));
      measured.sent = [1, 2, 3, 4].map((seq) => {
        const intendedAtUs = seq * 100_000;
        return { ...sent(seq, 5000), intendedAtUs, sentAtUs: intendedAtUs + 600_000 };
      });
    });
    assert.deepEqual([findings[0]?.code, findings[0]?.explains], ['WORKER_STALLED', ['BROADCASTS_LATE']]);
    assertNames(findings[0]?.message, ['w1', '700']);
  });

  /** Returns stalls of two workers in six broadcasts, whose last copies usually arrive after 13 s. */
  const duringBroadcasts = (usualMs: number, longestMs: number) => {
    const result = stalled(0, 33, { last: 17_000 });
    const t = Array.from({ length: 60 }, (_, index) => 31 + index);
    const delayMaxMs = t.map((_, index) => (index % 10 === 5 ? usualMs : 3));
    const loop = (worker: string, ms: number[]) => ({
      ...{ worker, process: null },
      eventLoop: { t, delayP99Ms: ms, delayMaxMs: ms },
    });
    result.workersOverTime = [loop('w0', delayMaxMs), loop('w1', delayMaxMs.with(45, longestMs))];
    result.latency.completionMs = { ...summaryOf(6, 13_000), ...FEW, max: 17_000 };
    return stalledWorkers(result).map(({ message }) => message);
  };

  const CASES: [what: string, found: ReturnType<typeof reportedStalls>, names?: string[]][] = [
    ['stall of a worker in each broadcast, once for longer', duringBroadcasts(11_000, 17_800)],
    ['stall of a worker once, longer than twice the usual', duringBroadcasts(8000, 17_800), ['w1', '17,800']],
    ['stall of a worker once, and short stalls in each broadcast', duringBroadcasts(500, 16_000), ['w1', '16,000']],
    [
      'stall of a worker visible in connect times',
      reportedStalls(2003, 13, { connect: 1950 }),
      ['w1', '2,003', '13 s', '1,950'],
    ],
    [
      'stall of a worker visible in times of the broadcasts',
      reportedStalls(700, 33, { last: 720 }),
      ['w1', '700', '33 s', '720'],
    ],
    ['stall of a worker in a ramp, while the broadcasts were slow', reportedStalls(700, 13, { last: 720 })],
    [
      'stall of a worker during the memory reading, after a ramp with slow connects',
      reportedStalls(700, 16, { connect: 720 }),
    ],
    ['stall of a worker for much longer than any connection waited', reportedStalls(2003, 13, { connect: 400 })],
    [
      'stall of a worker for a small part of the time that connections waited',
      reportedStalls(200, 13, { connect: 900 }),
    ],
    ['stall of a worker for a moment', reportedStalls(40, 13, { connect: 60 })],
  ];
  for (const [what, found = [], names] of CASES) {
    it(`the verdict reports ${names ? 'the worker' : 'nothing'} for: ${what}`, () => {
      assert.equal(found.length, names ? 1 : 0);
      if (names) assertNames(found[0] ?? '', names);
    });
  }
});

describe('stalls of a server', () => {
  /**
   * Returns a run with a broadcast every 0.4 s. `firstMs` is the time to the first copy of each; the last copy follows
   * soon.
   */
  const delays =
    (...firstMs: number[]): Change =>
    ({ delivery, generator }) => {
      const [row] = delivery?.batches ?? [];
      for (const loop of generator) loop.delayMaxMs = 7;
      if (delivery && row)
        delivery.batches = firstMs.map((delay, index) => ({
          ...{ ...row, seq: index + 1, t: 19 + 0.4 * index, firstMs: delay, p50Ms: delay, lastMs: delay + 2 },
        }));
    };

  testCases([
    [
      'stall of the server once, for at least 1.1 s',
      delays(1082, 688, 289, 6, 3, 4),
      'WORKER_STALLED',
      'once, for at least 1.1 s',
      '3 consecutive broadcasts',
    ],
    [
      'stall of the server three times at regular intervals',
      delays(1080, 680, 280, 4, 1080, 680, 280, 4, 1080, 680, 280),
      ...(['WORKER_STALLED', '3 times, the longest for at least 1.1 s, every 1.6 s'] as const),
    ],
    ['no stall of the server if each broadcast is slow', delays(1082, 1060, 1090, 1070)],
    [
      'no stall of the server if two broadcasts of a long queue arrive together by chance',
      delays(9000, 9210, 9420, 9030, 9240),
    ],
    ['no stall of the server if a pause is as long as a pause of the generator', delays(20, 4, 3, 5)],
  ]);
});

describe('a ramp without a new connection for a while', () => {
  /**
   * Returns a run with ten connections a second. The server stalls for three seconds, and the waiting connections open
   * afterwards.
   */
  const still =
    (change: Change = () => {}, cpuPercent = 196): Change =>
    (result, measured) => {
      const opened = [10, 10, 2, 0, 0, 31];
      const quiet = { failed: opened.map(() => 0), ended: opened.map(() => 0) };
      const slowestMs = opened.map((count) => (count === 0 ? null : count > 10 ? 2900 : 2));
      const meanMs = slowestMs.map((ms) => (ms === 2900 ? 1415 : ms));
      const overTime = { intervalSeconds: 1, t: opened.map((_, t) => t), opened, ...quiet, slowestMs, meanMs };
      const stagesMs = {
        tcp: summaryOf(63, 1),
        upgrade: { ...summaryOf(63, 2), max: 2899 },
        namespace: summaryOf(63, 1),
      };
      Object.assign(result.connections, { overTime, stagesMs, connectMs: { ...summaryOf(63, 3), max: 2900 } });
      result.samples.splice(0, Infinity, ...[3, 4, 5].map((t) => ({ t, connections: 22, worker: { cpuPercent } })));
      for (const loop of result.generator) Object.assign(loop, { delayMaxMs: 12 });
      change(result, measured);
    };
  const STALLED = 'WORKER_STALLED';

  testCases([
    [
      ...(['says how many waited for which answer, until when, and that the server worked'] as const),
      still(),
      ...([STALLED, 'at least 2.90 s, until 5.0 to 6.0 s', '31 of 5,000 connections', '1.42 s on average'] as const),
      ...['stage `upgrade`', '98 % of a core', 'at most 12.0 ms late'],
    ],
    [
      'ramp without a connection caused by a late generator',
      still(set('generator', { 0: { window: 'idle', delayMaxMs: 800 } })),
    ],
    [
      'ramp without a stall if each connect takes that long',
      still(set('connections', { connectMs: summaryOf(63, 2900) })),
    ],
    [
      'ramp without a stall if hardly any connection was requested',
      still(set('connections', { configuredRatePerSec: 1 })),
    ],
    ['ramp without a connection, maybe at a limit if connections closed', still(set('connections', { closed: 3 }))],
    ['ramp without a stall if attempts failed', still(set('connections', { retries: 3 }))],
  ]);

  it('a ramp without a new connection shows no busy event loop if the server used no CPU', () => {
    assert.match(verdictOf(still(undefined, 196)).findings[0]?.fix ?? '', /CPU profile/);
    assert.match(verdictOf(still(undefined, 1)).findings[0]?.fix ?? '', /what it waited for/);
  });
});
