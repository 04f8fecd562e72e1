/** What decides between several candidates, and what is left out where nothing was measured. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ceilings } from '../../../plugin/result/reasons/ceilings.ts';
import { generatorProblems } from '../../../plugin/result/reasons/generator.ts';
import { machineProblems } from '../../../plugin/result/reasons/machine.ts';
import { throttlingProblems } from '../../../plugin/result/reasons/throttling.ts';
import { workerFigures } from '../../../plugin/result/workers.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult, summaryOf } from '../../helpers/results.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 };

function reasonsOf(
  problems: (measurements: Measurements, result: Result) => Iterable<Reason>,
  change: (result: Result, measurements: Measurements) => void,
): string[] {
  const [result, measured] = [perfectResult(), measurements()];
  change(result, measured);
  return [...problems(measured, result)].map(({ code, message }) => `${code}: ${message}`);
}

describe('a ceiling', () => {
  it('goes by the most frequent cause, in whatever order causes came up', () => {
    const failures = { timeout_open: 5, EMFILE: 95 };
    const [reason] = reasonsOf(ceilings, (r) => Object.assign(r.connections, { peak: 4900, failed: 100, failures }));
    assert.match(reason ?? '', /^UNIFORM_CEILING: 95 of 100 .* EMFILE/);
  });

  for (const [what, held, expected] of [
    ['a thousandth apart, where processes hold many', [20_000, 20_010, 20_020], 1],
    ['further apart', [20_000, 20_010, 20_021], 0],
    ['one apart, where they hold few', [200, 201, 200], 1],
    ['the same, and less than a hundred', [99, 99, 99], 0],
  ] as const) {
    it(`of numbers that are ${what}, is ${expected ? 'one' : 'none'}`, () => {
      const found = reasonsOf(ceilings, (r, f) => {
        Object.assign(r.connections, { target: 100_000, peak: held.reduce((sum, one) => sum + one, 0) });
        const processes = held.map((connections, index) => {
          return { pid: index, index, alive: true, answers: true, connections, rssBytes: 0, cpuUs: 0, eventLoop };
        });
        f.snapshots.push(snapshot({ processes }));
      });
      assert.equal(found.length, expected, found.join());
    });
  }
});

describe('the generator', () => {
  it('is named by its worst loop', () => {
    const [reason, ...others] = reasonsOf(generatorProblems, ({ generator }) => {
      const [first, second] = generator;
      Object.assign(first ?? {}, { delayP99Ms: 60 });
      Object.assign(second ?? {}, { delayP99Ms: 90 });
    });
    assert.match(reason ?? '', /^GENERATOR_LAGS: .* fleet 0 was 90 ms late .* the ramp$/);
    assert.deepEqual(others, []);
  });

  describe('and a server whose fan-out is uneven', () => {
    /** The sentinel is served after 200 ms (median). */
    const lag = (behindMs: number, change: (result: Result) => void = () => {}) =>
      reasonsOf(generatorProblems, (result) => {
        result.latency.sentinelMs = summaryOf(20, 200);
        const few = { p90: null, p95: null, p99: null, p999: null };
        result.latency.behindSentinelMs = { ...summaryOf(6, behindMs), ...few, max: behindMs };
        result.latency.completionMs = { ...summaryOf(20, 600), ...few, max: 640 };
        change(result);
      });
    const stalled = (delayMaxMs: number, window: string, part: string) => (result: Result) =>
      Object.assign(result.generator.find((loop) => loop.window === window && loop.part === part) ?? {}, {
        delayMaxMs,
      });

    it('give no reason: 0 to 400 ms, or one percent at 2 s, while no loop stood still', () => {
      assert.deepEqual(lag(396), []);
      assert.deepEqual(lag(1960), []);
    });

    it('give none for a collection of garbage, a stall in a ramp, or one of a thread that does not receive', () => {
      assert.deepEqual(lag(396, stalled(197, 'broadcasts', 'fleet')), []);
      assert.deepEqual(lag(396, stalled(400, 'ramp', 'fleet')), []);
      assert.deepEqual(lag(396, stalled(400, 'broadcasts', 'artillery')), []);
    });

    it('are told apart from a generator that stood still for at least half of the lag', () => {
      const [reason, ...others] = lag(396, stalled(198, 'broadcasts', 'fleet'));
      assert.match(reason ?? '', /^GENERATOR_QUEUES: .* 396 ms .* event loop of fleet 0 was up to 198 ms late/);
      assert.deepEqual(others, []);
    });

    it('are told apart from a machine without CPU', () => {
      const saturated = (result: Result) => {
        Object.assign(result.machine ?? {}, { cpuIdlePercent: { ramp: 50, broadcasts: 4 } });
        for (const loop of result.generator) loop.cpuWaitShare = 0.5;
      };
      assert.match(lag(396, saturated)[0] ?? '', /^GENERATOR_QUEUES: .* its machine had no CPU left/);
    });
  });

  describe('and a single stall of a fleet process', () => {
    const few = { p90: null, p95: null, p99: null, p999: null };
    /** Nothing else is beyond its median. */
    const stall = (part: string, window: string, delayMaxMs: number, change: (result: Result) => void) =>
      reasonsOf(generatorProblems, (result) => {
        const flat = { ...summaryOf(200, 3), ...few, max: 10 };
        result.connections.connectMs = flat;
        result.latency.completionMs = { ...flat };
        for (const loop of result.generator)
          if (loop.part === part && loop.window === window) Object.assign(loop, { delayMaxMs });
        change(result);
      });
    const completion = (times: object) => (result: Result) => Object.assign(result.latency.completionMs ?? {}, times);
    const connects = (times: object) => (result: Result) => Object.assign(result.connections.connectMs ?? {}, times);

    it('name the percentile that can be the stall', () => {
      const [reason, ...others] = stall(
        'fleet',
        'broadcasts',
        397,
        completion({ p90: 6, p95: 11, p99: 266, max: 366 }),
      );
      assert.match(
        reason ?? '',
        /^GENERATOR_LAGS: fleet 0 stood still for 397 ms during the broadcasts, .* 266 ms \(p99; median 3 ms\)/,
      );
      assert.deepEqual(others, []);
    });

    it('name the maximum, if a percentile is not that high', () => {
      assert.match(stall('fleet', 'broadcasts', 395, completion({ p90: 6, max: 414 }))[0] ?? '', /414 ms \(max;/);
      assert.match(
        stall('fleet', 'ramp', 800, connects({ p99: 8, max: 790 }))[0] ?? '',
        /connect time of 790 ms \(max;/,
      );
    });

    it('give no reason where the times are longer than twice the stall, or hardly longer than their median', () => {
      // The published 32,000 with TLS, 100,800, and 1,000 by polling.
      assert.deepEqual(stall('fleet', 'broadcasts', 323, completion({ p50: 848, p99: 1230, max: 1238 })), []);
      assert.deepEqual(stall('fleet', 'broadcasts', 663, completion({ p50: 3580, max: 4583 })), []);
      assert.deepEqual(stall('fleet', 'broadcasts', 61, completion({ p50: 81, p99: 118, max: 151 })), []);
      assert.deepEqual(stall('fleet', 'ramp', 106, connects({ p99: 346, max: 639 })), []);
    });

    it('give none for a stall that nothing waited for, a short one, or one of a thread that does not receive', () => {
      assert.deepEqual(stall('fleet', 'broadcasts', 2000, completion({ max: 40 })), []);
      assert.deepEqual(stall('fleet', 'broadcasts', 50, completion({ max: 60 })), []);
      assert.deepEqual(stall('artillery', 'broadcasts', 400, completion({ max: 410 })), []);
      assert.deepEqual(stall('fleet', 'ramp', 400, completion({ max: 410 })), []);
    });

    it('name a single broadcast that can be the stall', () => {
      assert.equal(stall('fleet', 'broadcasts', 400, completion({ count: 1, p50: 390, max: 390 })).length, 1);
      assert.deepEqual(stall('fleet', 'broadcasts', 400, completion({ count: 1, p50: 39, max: 39 })), []);
    });

    it('are named once, with the lag that they cause', () => {
      const lags = stall('fleet', 'broadcasts', 400, (result) => {
        completion({ max: 410 })(result);
        for (const loop of result.generator) Object.assign(loop, { delayP99Ms: 60 });
      });
      assert.deepEqual(lags.length, 1, lags.join());
    });
  });

  it('has no queue where no sentinel saw one', () => {
    for (const nothing of [{ sentinelMs: null }, { behindSentinelMs: null }]) {
      assert.deepEqual(
        reasonsOf(generatorProblems, ({ latency }) => Object.assign(latency, nothing)),
        [],
      );
    }
  });
});

describe('the container', () => {
  const container = (_: Measurements, result: Result) => throttlingProblems(result);
  const of = (periods: number, throttledPeriods: number) => ({
    cores: 0.12,
    periods,
    throttledPeriods,
    throttledMs: 51_200,
  });
  const throttle = (windows: object) => (result: Result) =>
    Object.assign(result.machine ?? {}, { throttled: { ramp: null, messages: null, broadcasts: null, ...windows } });

  it('is named with the window in which its quota stopped it most', () => {
    const [reason, ...others] = reasonsOf(container, throttle({ ramp: of(1969, 743), broadcasts: of(1000, 100) }));
    assert.match(
      reason ?? '',
      /^CPU_THROTTLED: the generator: 743 of 1,969 periods throttled during the ramp, for 51\.2 s in all: this container may use 0\.12 cores/,
    );
    assert.deepEqual(others, []);
  });

  it('has no problem with a quota that it rarely uses up, or without one', () => {
    assert.deepEqual(reasonsOf(container, throttle({ ramp: of(1000, 50), broadcasts: of(0, 0) })), []);
    assert.deepEqual(
      reasonsOf(container, () => {}),
      [],
    );
  });

  it('of a worker is named with the worker', () => {
    const windows = { ramp: of(100, 60), messages: null, broadcasts: null };
    const [reason, ...others] = reasonsOf(container, (result) => {
      const idle = workerFigures({ ...measurements(), workerResources: [workerResources()] }).workers;
      result.workers = ['w0', 'w1'].flatMap((worker) =>
        idle.map((one) => ({ ...one, worker, throttled: worker === 'w1' ? windows : null })),
      );
    });
    assert.match(reason ?? '', /^WORKERS_THROTTLED: w1: 60 of 100 periods throttled during the ramp, .* 0\.12 cores;/);
    assert.deepEqual(others, []);
  });

  it('explains what waited in the generator', () => {
    const [reason] = reasonsOf(generatorProblems, (result) => {
      result.latency.sentinelMs = summaryOf(200, 20);
      result.latency.behindSentinelMs = summaryOf(200, 300);
      throttle({ broadcasts: of(100, 40) })(result);
    });
    assert.match(reason ?? '', /^GENERATOR_QUEUES: .* its container had used up its quota of CPU time meanwhile$/);
  });
});

describe('the machine', () => {
  const busy = (result: Result, ramp: number | null, broadcasts: number | null) =>
    Object.assign(result.machine ?? {}, { cpuIdlePercent: { ramp, broadcasts } });
  const machine = (_: Measurements, result: Result) => machineProblems(result);

  it('is saturated in the window in which least is idle, by those who waited in that window', () => {
    const waiting = (inRamp: number, inBroadcasts: number) =>
      reasonsOf(machine, (result) => {
        busy(result, 9, 4);
        for (const loop of result.generator) loop.cpuWaitShare = loop.window === 'ramp' ? inRamp : inBroadcasts;
        Object.assign(result.generator.findLast(({ window }) => window === 'broadcasts') ?? {}, { cpuWaitShare: 0 });
      });
    assert.match(waiting(0, 0.5)[0] ?? '', /only 4\.0 % .* during the broadcasts, and .* for 50 %/);
    assert.match(waiting(0.5, 0)[0] ?? '', /only 9\.0 % .* during the ramp, and .* for 50 %/);
    assert.deepEqual(waiting(0.1, 0.1), []);
  });

  it('is saturated where nobody knows who waited', () => {
    const [reason] = reasonsOf(machine, (result) => {
      busy(result, 9, null);
      for (const loop of result.generator) loop.cpuWaitShare = null;
    });
    assert.match(reason ?? '', /^MACHINE_SATURATED: only 9\.0 % of the generator's machine was idle during the ramp: /);
  });

  it('has no problem that was not measured', () => {
    const unknown = { cpuIdlePercent: { ramp: null, broadcasts: null }, swappedInBytes: null, swappedOutBytes: null };
    assert.deepEqual(
      reasonsOf(machine, (result) => Object.assign(result.machine ?? {}, unknown)),
      [],
    );
    const older = (key: 'machine' | 'sampling') =>
      reasonsOf(machine, (result) => Object.assign(result, { [key]: undefined }));
    assert.deepEqual([...older('machine'), ...older('sampling')], []);
  });

  it('swaps when it reads or when it writes', () => {
    const swap = (swappedInBytes: number, swappedOutBytes: number) =>
      reasonsOf(machine, (result) => Object.assign(result.machine ?? {}, { swappedInBytes, swappedOutBytes }));
    assert.match(swap(3 * 2 ** 20, 0)[0] ?? '', /^SWAPPING: .* out 0\.0 MB and in 3\.0 MB/);
    assert.match(swap(0, 2 ** 21)[0] ?? '', /^SWAPPING: .* out 2\.0 MB and in 0\.0 MB/);
    assert.deepEqual(swap(2 ** 20, 2 ** 20), []);
  });

  it('names all gaps in its samples at once', () => {
    const gaps = { taken: 90, missed: 10, longestGapMs: 5500, failures: { redis: 6, processes: 5 } };
    assert.deepEqual(
      reasonsOf(machine, (result) => Object.assign(result.sampling ?? {}, gaps)),
      [
        'SAMPLER_GAPS: 10 of 100 samples are missing, the longest gap is 5.5 s, redis failed 6 times: ' +
          'peaks may have been missed',
      ],
    );
    const fixOf = (failures: object) => {
      const result = perfectResult();
      Object.assign(result.sampling ?? {}, { ...gaps, failures });
      return [...machineProblems(result)].map(({ fix }) => fix);
    };
    assert.match(fixOf({ prometheus: 40 })[0] ?? '', /^see whether prometheus still answers/);
    assert.deepEqual(fixOf({}), ['give the generator more CPU']);
  });
});
