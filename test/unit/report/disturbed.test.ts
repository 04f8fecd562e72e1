/** Runs of which others took the CPUs: what of them still counts in a comparison. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Study } from '../../../protocol/documents/study.ts';
import { compare, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonDocument, seriesDocument } from '../../../report/compare/document.ts';
import { headlineOf } from '../../../report/compare/text.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { summarize } from '../../../report/study/summarize.ts';
import { failed, latencies, latencyOfOne, ONE_WAY, setOf, slopeRun, WORKER } from '../../helpers/run-sets.ts';

describe('runs that others disturbed', () => {
  /** As others took so many of two cores while it connected. */
  const disturbed = (othersCores: number, set: RunSet, busyCores = 1): RunSet => {
    const rest = { stealCores: 0, oursCores: 0.5, kernelCores: 0, busyCores, errorCores: 0.1 };
    const programs = [{ name: 'tsc', cores: othersCores }];
    const window = { window: 'ramp' as const, seconds: 10, cores: 2, ...rest, othersCores, programs };
    for (const { machine } of set.results) Object.assign(machine ?? {}, { others: { windows: [window] } });
    return set;
  };
  const answerOf = (path: string, ...sets: RunSet[]) =>
    compare(sets).figures.find((figure) => figure.path === path)?.differences[0]?.answer;
  const quiet = latencies(10, 10.1, 9.9, 10, 10.1);

  it('have no times, and the comparison says so, with the cause', () => {
    const slow = disturbed(1.1, latencies(20, 20.1, 19.9, 20, 20.1));
    assert.equal(answerOf(ONE_WAY, quiet, slow), 'cannot-tell');
    const comparison = compare([quiet, slow]);
    assert.equal(headlineOf(comparison, 1).answer, 'cannot-tell');
    const text = renderConsole(comparisonDocument(comparison), { color: false, width: 1000 });
    assert.match(
      text,
      /times, rates and CPU do not count: other programs used 1\.10 of 2 cores during the ramp \(tsc: 1\.10\)/,
    );
  });

  it('of one series have no times either, and it says so', () => {
    const plan = { scenario: '5k', vary: {}, servers: {}, except: [], repeat: 3, seed: 1 };
    const runs = disturbed(1.1, latencies(20, 21, 22)).results.map((result) => ({ levels: {}, result }));
    const study = { plan, ...summarize(plan, runs) } as unknown as Study;
    const text = renderConsole(seriesDocument(study, runs), { color: false, width: 1000 });
    assert.match(text, /times, rates and CPU do not count: other programs/);
  });

  it('on both sides show no difference in nothing', () => {
    const series = (...p50s: number[]) => disturbed(1.1, latencies(...p50s));
    const headline = headlineOf(compare([series(10, 10.1, 9.9, 10), series(20, 20.1, 19.9, 20)]), 1);
    assert.equal(headline.answer, 'cannot-tell', headline.text);
    assert.match(headline.text, /^times, rates and CPU do not count/);
  });

  it('still have counts, and memory', () => {
    assert.equal(answerOf('connections.failed', failed(0), disturbed(1.1, failed(7))), 'worse');
    assert.equal(answerOf(WORKER, slopeRun(1000, 10), disturbed(1.1, slopeRun(2000, 10))), 'worse');
  });

  it('are counted where some of the runs are', () => {
    const some = setOf(...quiet.results, ...disturbed(1.1, latencies(20)).results);
    const text = renderConsole(comparisonDocument(compare([quiet, some])), { color: false, width: 1000 });
    assert.match(text, /times, rates and CPU of 1 do not count/);
  });

  it('leave the others of their series as they are, and those that took little count', () => {
    const slow = latencies(20, 20.1, 19.9);
    const mixed = setOf(...slow.results, ...disturbed(1.1, latencies(500, 900)).results);
    assert.equal(answerOf(ONE_WAY, quiet, mixed), 'worse');
    assert.equal(answerOf(ONE_WAY, quiet, disturbed(0.3, slow)), 'worse');
    assert.equal(
      answerOf(ONE_WAY, quiet, disturbed(0.3, slow, 1.8)),
      'cannot-tell',
      'they left no more than that idle',
    );
    assert.equal(
      answerOf(
        ONE_WAY,
        latencyOfOne(10),
        setOf(...disturbed(1.1, latencies(900)).results, ...latencyOfOne(10.1).results),
      ),
      'no-difference',
    );
  });
});
