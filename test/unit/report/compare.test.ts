import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareSets, type RunSet, USABLE_RUNS_KEY } from '../../../report/compare/compare.ts';
import { comparedTable } from '../../../report/compare/text.ts';
import { COMPARABLE_FIGURES, comparedValue } from '../../../report/figures/figures.ts';
import { confidenceInterval } from '../../../report/statistics/spread.ts';
import { column } from '../../helpers/columns.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';
import {
  answer,
  failed,
  figure,
  held,
  invalid,
  latencies,
  latencyOfOne,
  lost,
  ONE_WAY,
  rates,
  run,
  setOf,
  slopeRun,
  WORKER,
} from '../../helpers/run-sets.ts';

it('every compared figure is a key of the result document', () => {
  const { redis, ...others } = resultWithMessages();
  const ofHosts = redis && { ...redis, hostBytesPerBroadcast: 4000 };
  const [quiet, busy] = [perfectResult(), { ...others, redis: ofHosts, fault: plannedFault() }];
  for (const figure of COMPARABLE_FIGURES) {
    assert.equal(typeof (comparedValue(quiet, figure) ?? comparedValue(busy, figure)), 'number', figure.path);
  }
});

describe('the answer for a figure', () => {
  const [steady, baseline] = [latencies(50, 51, 49, 50, 50), latencies(49, 50, 51, 50, 50)];
  const uncounted = setOf(run((result) => (result.delivery = null)));
  const CASES: [name: string, a: RunSet, b: RunSet, path: string, answer: string][] = [
    ['repeated runs that differ far more than their spread', steady, latencies(70, 71, 69, 70, 70), ONE_WAY, 'worse'],
    ['repeated runs that are far lower than their spread', steady, latencies(30, 31, 29, 30, 30), ONE_WAY, 'better'],
    [
      'repeated runs with a figure for which higher is better',
      rates(500, 501, 499),
      rates(300, 301, 299),
      'connections.achievedRatePerSec',
      'worse',
    ],
    [
      'repeated runs that differ by less than their spread',
      latencies(40, 50, 60),
      latencies(45, 55, 65),
      ONE_WAY,
      'inconclusive',
    ],
    [
      'repeated runs that differ by less than the margin',
      steady,
      latencies(50, 51, 52, 50, 51),
      ONE_WAY,
      'no-difference',
    ],
    ['one run within the spread of repeats', baseline, latencies(50.5), ONE_WAY, 'no-difference'],
    ['one run outside the spread of repeats', baseline, latencies(90), ONE_WAY, 'worse'],
    ['one run each, with unknown noise', latencies(10), latencies(1000), ONE_WAY, 'inconclusive'],
    ['one run each, several times as high', latencyOfOne(50), latencyOfOne(400), ONE_WAY, 'worse'],
    [
      'repeated runs that differ by less than the accuracy of 2 %',
      latencies(50, 50, 50),
      latencies(51, 51, 51),
      ONE_WAY,
      'no-difference',
    ],
    [
      'repeated runs that differ by more than spread and accuracy',
      latencies(50, 50, 50),
      latencies(55.1, 55.1, 55.1),
      ONE_WAY,
      'worse',
    ],
    [
      'single runs whose slopes have wide intervals',
      slopeRun(10_000, 300),
      slopeRun(10_400, 300),
      WORKER,
      'inconclusive',
    ],
    [
      'slopes that differ by less than the margin of error',
      slopeRun(10_000, 10),
      slopeRun(10_900, 10),
      WORKER,
      'inconclusive',
    ],
    [
      'slopes that differ far more than the margin of error',
      slopeRun(10_000, 10),
      slopeRun(11_100, 10),
      WORKER,
      'worse',
    ],
    ['a slope below 0, which is no improvement', slopeRun(10_000, 10), slopeRun(-10_000, 10), WORKER, 'inconclusive'],
    ['a reference slope below 0', slopeRun(-10_000, 10), slopeRun(10_000, 10), WORKER, 'inconclusive'],
    ['one copy lost', lost(0), lost(1), 'delivery.coverage', 'worse'],
    ['failures with a large spread', failed(0, 50), failed(400), 'connections.failed', 'worse'],
    ['counts that vary', failed(3), failed(4), 'connections.failed', 'inconclusive'],
    ['counts within the range of repeated runs', failed(2, 9), failed(10), 'connections.failed', 'inconclusive'],
    ['counts that differ as much as repeated runs', failed(2, 9), failed(21), 'connections.failed', 'inconclusive'],
    ['counts that differ more than repeated runs', failed(2, 9), failed(23), 'connections.failed', 'worse'],
    ['dropped connections in all runs', held(5000, 5000), held(4900, 4000), 'connections.held', 'worse'],
    ['dropped connections in half of the runs', held(5000, 5000), held(5000, 4000), 'connections.held', 'inconclusive'],
    ['copies counted on one side only', uncounted, lost(0), 'delivery.coverage', 'inconclusive'],
    ['total memory, computed from its slope', setOf(run()), setOf(run()), 'memory.perConnection.bytes', 'inconclusive'],
  ];
  for (const [name, a, b, path, expected] of CASES) {
    it(`the answer of a comparison for ${name}: ${expected}`, () => assert.equal(answer(a, b, path), expected));
  }

  it('each compared figure has a difference, an interval and a source of noise', () => {
    const [repeats] = figure([latencies(40, 50, 60), latencies(45, 55, 65)], ONE_WAY).differences;
    assert.deepEqual([repeats?.noise, repeats?.value, repeats?.share], ['repeats', 5, 0.1]);
    assert.ok((repeats?.low ?? 1) < 0 && (repeats?.high ?? -1) > 0);
    assert.equal(figure([uncounted, lost(0)], 'delivery.coverage').differences[0]?.noise, null);
    const [unknown] = figure([latencies(10), latencies(1000)], ONE_WAY).differences;
    const none = { low: null, high: null, detectable: null, runsNeeded: null, noise: null };
    assert.deepEqual(unknown, { answer: 'inconclusive', value: 990, share: 99, invalidatedBy: [], ...none });
    const [line] = figure([slopeRun(10_000, 300), slopeRun(20_000, 300)], WORKER).differences;
    assert.equal(line?.noise, 'fit');
    // The error of each side is 300 ÷ t(0.95, 3) = 300 ÷ 3.182 = 94.28, and of both √2 × 94.28 = 133.3, with 6 degrees
    // of freedom.
    assert.ok((line.high ?? 0) - 10_000 > 2.447 * 133.3);
  });

  it('each compared figure has a detectable difference', () => {
    const [difference] = figure([latencies(49, 50, 51), latencies(49, 50, 51)], ONE_WAY).differences;
    const half = ((difference?.high ?? 0) - (difference?.low ?? 0)) / 2;
    assert.ok((difference?.detectable ?? 0) > half && (difference?.detectable ?? 0) < 4 * half);
    assert.equal(figure([latencies(200, 200), latencies(200, 200)], ONE_WAY).differences[0]?.detectable, 4);
    const shown = (a: RunSet, b: RunSet) => comparedTable('', [figure([a, b], ONE_WAY)], 1, ['A', 'B']).rows[0]?.at(-1);
    assert.equal(shown(latencies(200, 200), latencies(200, 200)), '± 2 %');
    assert.equal(shown(latencyOfOne(50), latencyOfOne(90)), '2 times as much');
  });

  it('compares memory of workers by PSS, or by RSS without a PSS', () => {
    const paths = (set: RunSet) => compareSets([set, set]).figures.map(({ path }) => path);
    const rss = WORKER.replace('Pss', 'Rss');
    assert.ok(!paths(latencies(1)).includes(rss));
    assert.ok(paths(setOf(run(({ memory }) => delete memory.perConnectionBytes.workerPss))).includes(rss));
  });

  it('a comparison omits an incomplete cost per connection, and an unreliable slope', () => {
    const cost = 'memory.perConnection.bytes';
    const spoiled = run(({ memory }) => {
      Object.assign(memory.perConnection ?? {}, { isAtLeast: true });
      Object.assign(memory.perConnectionBytes.workerPss ?? {}, { doubt: 'grows' });
      Object.assign(memory.perConnectionBytes.nginxPss ?? {}, { doubt: 'curved' });
    });
    for (const path of [cost, WORKER]) {
      assert.equal(figure([setOf(run()), setOf(spoiled)], path).spreads[1], null, path);
      assert.equal(figure([setOf(run()), setOf(run(), spoiled)], path).spreads[1]?.runs, 1, path);
    }
    const freed = run(({ memory }) => Object.assign(memory.perConnection?.parts[0] ?? {}, { doubt: 'freed' }));
    assert.equal(figure([setOf(run()), setOf(freed)], cost).spreads[1], null, 'of a part');
    const curved = figure([setOf(run()), setOf(spoiled)], 'memory.perConnectionBytes.nginxPss.slope');
    assert.equal(curved.spreads[1]?.runs, 1);
  });

  it('compares the cost per connection only between runs that measured the same parts of it', () => {
    const cost = 'memory.perConnection.bytes';
    const of = (bytes: number, ...unread: string[]) =>
      setOf(
        run(({ memory }) => Object.assign(memory.perConnection ?? {}, { bytes, unread, low95: bytes, high95: bytes })),
      );
    assert.equal(figure([of(10_000, 'kernel'), of(20_000, 'kernel')], cost).differences[0]?.answer, 'worse');
    assert.equal(figure([of(10_000, 'kernel'), of(20_000)], cost).differences[0]?.answer, 'inconclusive');
    const [mismatch] = compareSets([of(10_000, 'kernel'), of(20_000)]).mismatches;
    assert.deepEqual([mismatch?.aspect, mismatch?.values], ['system', ['kernel', 'nothing']]);
  });

  it('compares no figure of an INVALID run', () => {
    const comparison = compareSets([latencies(40, 50, 60), invalid(latencies(1, 1, 1))]);
    assert.equal(comparison.sets[1]?.usable, 0);
    for (const { path, spreads, differences } of comparison.figures) {
      if (path === USABLE_RUNS_KEY) continue;
      const { answer, value, share } = differences[0] ?? {};
      assert.deepEqual([spreads[1], answer, value, share], [null, 'inconclusive', null, null], path);
    }
  });
});

describe('the interval of a difference', () => {
  const sets = [40, 45].map((first) => {
    const set = latencies(first, first + 10, first + 20);
    for (const [index, { connections, latency }] of set.results.entries()) {
      connections.achievedRatePerSec = 400 + 10 * index;
      if (latency.oneWayMs) latency.oneWayMs.p99 = latency.oneWayMs.p50;
    }
    return set;
  });

  const assertLow = (compared: RunSet[], path: string, error: number, degrees: number, betweenRuns = 0) => {
    const [difference] = figure(compared, path).differences;
    const estimate = { value: difference?.value ?? Number.NaN, error, degrees };
    const low = confidenceInterval(estimate, 0.95).low - betweenRuns;
    assert.ok(Math.abs((difference?.low ?? 1e9) / low - 1) < 1e-4, `${path}: ${difference?.low}, not ${low}`);
  };

  it('the interval of a difference is a 95 % interval, however many figures are compared', () => {
    for (const path of ['connections.achievedRatePerSec', ONE_WAY, 'latency.oneWayMs.p99'])
      for (const compared of [sets, [...sets, ...sets.slice(1)]]) assertLow(compared, path, Math.sqrt(200 / 3), 4);
  });

  it('the interval of a difference uses the noise of all runs of a study if its sides have few runs', () => {
    const levelNoise = [new Map([[ONE_WAY, { share: 0.1, degrees: 8 }]])];
    const noisesOf = (compared: RunSet[], noise?: typeof levelNoise) => {
      const { figures } = compareSets(compared.map((set) => ({ ...set, ...(noise && { levelNoise: noise }) })));
      return column(figures.find(({ path }) => path === ONE_WAY)?.differences, 'noise');
    };
    const without = setOf(run(({ latency }) => (latency.oneWayMs = null)));
    assert.deepEqual(noisesOf([latencies(50), latencies(70), without], levelNoise), ['study', null]);
    assert.deepEqual(noisesOf([latencies(50, 51, 50, 51), latencies(70, 71, 70, 71)], levelNoise), ['repeats']);
    assert.deepEqual(noisesOf([latencies(40, 50, 60), latencies(70)]), ['repeats']);
  });

  it('the interval of a difference uses the wider end of each broadcast interval of single runs', () => {
    const lowOf = (low95: number, high95: number, count = 11) => {
      const set = latencyOfOne(100);
      for (const { latency } of set.results) {
        if (latency.completionMs) latency.completionMs.count = count;
        latency.intervals = { oneWayMs: { p50: { low95, high95 }, p99: null }, completionMs: { p50: null, p99: null } };
      }
      return figure([set, set], ONE_WAY).differences[0]?.low;
    };
    const even = lowOf(80, 120);
    assert.ok(typeof even === 'number' && even < 0);
    assert.deepEqual([lowOf(98, 120), lowOf(80, 102), lowOf(80, 120, 1)], [even, even, null]);
    assert.equal(typeof lowOf(80, 120, 2), 'number');
  });

  it('a single run compared with repeated runs uses the error of its slope, not of its broadcasts', () => {
    const slopes = setOf(...[10_000, 10_100, 10_200].flatMap((slope) => slopeRun(slope, 1).results));
    const width = (a: RunSet, b: RunSet, path: string) => {
      const [difference] = figure([a, b], path).differences;
      assert.equal(difference?.noise, 'repeats');
      return (difference.high ?? 0) - (difference.low ?? 0);
    };
    const [narrow, wideSlope] = [slopeRun(10_000, 10), slopeRun(10_000, 1000)];
    assert.ok(width(wideSlope, slopes, WORKER) > 2 * width(narrow, slopes, WORKER));
    assert.ok(width(slopes, wideSlope, WORKER) > 2 * width(slopes, narrow, WORKER));
    const repeats = latencies(49, 50, 51);
    assert.equal(width(latencyOfOne(50), repeats, ONE_WAY), width(latencies(50), repeats, ONE_WAY));
  });

  it('the interval of a difference includes the error of intervals too wide to report, for any number of runs', () => {
    const cost = 'memory.perConnection.bytes';
    const costsOf = (bytes: number, high95: number) =>
      setOf(
        ...[0.99, 1, 1, 1, 1.01].map((noise) =>
          run(({ memory }) =>
            Object.assign(memory.perConnection ?? {}, { bytes: noise * bytes, low95: 0.9 * bytes, high95 }),
          ),
        ),
      );
    const [known, wide] = [costsOf(20_000, 21_000), costsOf(20_000, 400_000)];
    assert.equal(answer(known, known, cost), 'no-difference');
    assert.equal(answer(known, wide, cost), 'inconclusive');
    assert.equal(answer(wide, costsOf(10_000, 400_000), cost), 'inconclusive');
    assert.equal(answer(costsOf(20_000, 40_000), costsOf(200_000, 220_000), cost), 'worse');
    assert.equal(figure([known, wide], cost).differences[0]?.runsNeeded, null);
  });

  it('the interval of a difference is not narrowed where the interval of a cost is cut off at zero', () => {
    const costOf = (bytes: number, low95: number) =>
      setOf(run(({ memory }) => Object.assign(memory.perConnection ?? {}, { bytes, low95, high95: bytes + 8000 })));
    const lowOf = (low95: number) =>
      figure([costOf(100, low95), costOf(9000, 1000)], 'memory.perConnection.bytes').differences[0]?.low;
    assert.equal(typeof lowOf(0), 'number');
    assert.equal(lowOf(0), lowOf(-7900));
  });

  it('the interval of a difference between slopes of single runs comes from their memory plateaus', () => {
    const set = slopeRun(10_000, 300);
    const plateaus = set.results[0]?.memory.plateaus.length ?? 0;
    assert.equal(plateaus, 5);
    assertLow([set, set], WORKER, (Math.SQRT2 * 300) / 3.1824463, 6, 1000);
    for (const count of [3, 2]) {
      for (const { memory } of set.results) memory.plateaus = memory.plateaus.slice(0, count);
      assert.equal(answer(set, set, WORKER), 'inconclusive');
    }
    for (const open of [{ low95: null }, { high95: null }]) {
      const unknown = slopeRun(10_000, 300);
      for (const { memory } of unknown.results) Object.assign(memory.perConnectionBytes.workerPss ?? {}, open);
      assert.equal(answer(unknown, slopeRun(20_000, 300), WORKER), 'inconclusive');
      assert.equal(answer(slopeRun(20_000, 300), unknown, WORKER), 'inconclusive');
    }
  });
});

it('compares the number of connections only if all runs requested the same number', () => {
  const target = (connections: number) => setOf(run((result) => (result.connections.target = connections)));
  const of = (sets: RunSet[], isStudy = false) =>
    ['connections.peak', 'connections.failed', 'connections.connectMs.p50'].map((path) =>
      compareSets(sets, { isStudy }).figures.some((one) => one.path === path),
    );
  const differing = [target(10), target(20)];
  assert.deepEqual(of([target(10), target(10)]), [true, true, true]);
  assert.deepEqual(of(differing), [false, true, false]);
  assert.deepEqual(of(differing, true), [false, true, true]);
});

it('compares the rate only if all runs requested the same rate', () => {
  const asked = (rate: number) => setOf(run((result) => (result.connections.configuredRatePerSec = rate)));
  const isCompared = (sets: RunSet[]) =>
    [false, true].map((isStudy) =>
      compareSets(sets, { isStudy }).figures.some(({ path }) => path === 'connections.achievedRatePerSec'),
    );
  assert.deepEqual(isCompared([asked(500), asked(500)]), [true, true]);
  assert.deepEqual(isCompared([asked(500), asked(315)]), [false, false]);
});

it('the relative difference from a share of zero is undefined', () => {
  assert.deepEqual(figure([rates(0), rates(5)], 'connections.achievedRatePerSec').differences[0]?.share, null);
});
