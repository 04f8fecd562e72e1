import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { type Comparison, compareSets, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonDocument } from '../../../report/compare/compare-page.ts';
import { comparisonHeadline } from '../../../report/compare/text.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { assertGolden } from '../../helpers/golden.ts';
import {
  answer,
  failed,
  invalid,
  latencies,
  latencyOfOne,
  ONE_WAY,
  run,
  setOf,
  slopeRun,
  WORKER,
} from '../../helpers/run-sets.ts';

const WIDE = { color: false, width: 1000 };
const textOf = (comparison: Comparison) => renderConsole(comparisonDocument(comparison), WIDE);

describe('the headline', () => {
  const side = (validRuns: number, invalidRuns: number, missing = 0): RunSet => {
    const runs = (count: number) => setOf(...Array.from({ length: count }, () => run()));
    return { ...setOf(...runs(validRuns).results, ...invalid(runs(invalidRuns)).results), lost: missing };
  };
  const repeated = (result: Result) => setOf(result, result, result);
  /** Returns runs that failed without a figure that shows the failure. */
  const broken = (count: number) =>
    setOf(
      ...Array.from({ length: count }, () =>
        run((one) => {
          one.outcome.status = 'FAILED';
          one.answer.cause = 'no adapter';
        }),
      ),
    );
  const withDelivery = repeated(run());
  const without = repeated(run((one) => (one.delivery = null)));
  const partly = setOf(...withDelivery.results.slice(2), ...without.results.slice(1));
  const CASES: [what: string, a: RunSet, b: RunSet, answer: string, text: RegExp][] = [
    ['a worse figure, also if the runs are single', failed(0), failed(400), 'worse', /^worse in Connections failed; /],
    [
      'single runs without a difference',
      failed(0),
      failed(0),
      'inconclusive',
      /^inconclusive in Connect time p99, .*: too few runs; .* Memory per connection: its interval .*; no difference in \d/,
    ],
    ['the reason of a failed run', failed(0), broken(1), 'worse', /^B failed: no adapter; /],
    [
      'several failed runs with their reasons',
      repeated(run()),
      broken(3),
      'worse',
      /^B failed in 3 of 3 runs: no adapter; /,
    ],
    ['failures on both sides', broken(1), broken(1), 'inconclusive', /^inconclusive/],
    ['a figure that one side lacks', withDelivery, without, 'inconclusive', /unknown for B: D/],
    ['a figure that most runs lack', withDelivery, partly, 'inconclusive', /^known in 1 of 3 runs of B: Delivered/],
    ['most runs INVALID', side(5, 0), side(1, 4), 'worse', /^worse in Usable runs/],
    ['all runs INVALID', side(5, 0), side(0, 5), 'worse', /^worse in Usable runs/],
    ['most runs of the first side INVALID', side(1, 4), side(5, 0), 'better', /^better in Usable runs/],
    ['an INVALID run among several', side(5, 0), side(4, 1), 'inconclusive', /^0 of 5 and 1 of 5 runs/],
    ['a single run of the first side INVALID', side(0, 1), side(5, 0), 'inconclusive', /INVALID/],
    ['a single run INVALID', side(1, 0), side(0, 1), 'inconclusive', /INVALID/],
    ['INVALID runs on both sides', side(4, 1), side(4, 0, 1), 'no-difference', /^no difference/],
  ];
  for (const [what, a, b, expected, text] of CASES) {
    it(`the headline of a comparison shows ${what}`, () => {
      const headline = comparisonHeadline(compareSets([a, b]), 1);
      assert.equal(headline.answer, expected, headline.text);
      assert.match(headline.text, text);
    });
  }
});

describe('a comparison as a report', () => {
  it('a comparison shows the interval behind its answer, also for single runs', () => {
    const { figures } = compareSets([slopeRun(15_000, 100), slopeRun(16_000, 100)]);
    const [difference] =
      figures.find(({ path }) => path === 'memory.perConnectionBytes.workerPss.slope')?.differences ?? [];
    assert.equal(difference?.answer, 'inconclusive');
    assert.ok(difference?.low != null && difference.low < 0, `${difference?.low}`);
  });

  it('a comparison shows a single lost copy of a hundred thousand', () => {
    const lost = (received: number) =>
      one('', ({ delivery }) =>
        Object.assign(delivery ?? {}, { expected: 100_000, received, coverage: received / 100_000 }),
      );
    const text = textOf(compareSets([lost(100_000), lost(99_999)]));
    assert.match(text, /Delivered, % .* WORSE +-0\.001 pp/);
  });

  const one = (name: string, change?: (result: Result) => unknown): RunSet => ({ name, results: [run(change)] });

  it('a comparison has the answer first, and each difference with its sign', (t) => {
    const comparison = compareSets([slopeRun(15_000, 300), slopeRun(18_000, 300)]);
    const document = comparisonDocument(comparison);
    assert.equal(document.answer.tone, 'bad');
    assertGolden(t, 'comparison.txt', textOf(comparison));
    assert.match(renderHtml(document), /class="worse"><span aria-hidden="true">▼ <\/span>WORSE/);
  });

  it('a comparison of two loads lists their differences, and compares no counts of connections', () => {
    const other = one('5k', ({ run: it, connections, environment }) => {
      Object.assign(it, { scenario: '10k' });
      Object.assign(connections, { target: 10_000, peak: 10_000, held: 10_000 });
      environment.settings = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`option${index}`, index]));
      environment.settings.phases = [{ name: 'ramp', duration: 2, arrivalRate: 125, rampTo: 125 }, { pause: 4 }];
    });
    const { answer: found, sections } = comparisonDocument(compareSets([one('1k'), other]));
    const named = found.lines.filter((line) => /different load: connections, .*option29/.test(line));
    assert.equal(named.length, 1);
    assert.ok(found.lines.some((line) => /^The loads differ/.test(line)));
    const file = comparisonDocument(
      compareSets([one('1k'), one('1k', ({ run: it }) => Object.assign(it, { scenario: 'after' }))]),
    );
    assert.ok(!file.answer.lines.some((line) => /^The loads differ/.test(line)), 'of the same load in another file');
    const [figures, conditions] = sections.map(({ blocks }) => JSON.stringify(blocks));
    assert.doesNotMatch(figures ?? '', /Peak connections|One way|Connect rate/, 'they follow the load');
    assert.match(figures ?? '', /Memory per connection.*CPU per message/);
    assert.match(conditions ?? '', /"phases","load","[^"]*","2 s at 125\/s, 4 s pause"/);
    assert.match(conditions ?? '', /option29/);
  });
});

describe('runs disturbed by other programs', () => {
  /** Returns runs on two cores in which other programs used CPU during the ramp. */
  const disturbed = (othersCores: number, set: RunSet, busyCores = 1): RunSet => {
    const rest = { stealCores: 0, oursCores: 0.5, kernelCores: 0, busyCores, errorCores: 0.1 };
    const programs = [{ name: 'tsc', cores: othersCores }];
    const window = { window: 'ramp' as const, seconds: 10, cores: 2, ...rest, othersCores, programs };
    for (const { machine } of set.results) Object.assign(machine ?? {}, { others: { windows: [window] } });
    return set;
  };
  const quiet = latencies(10, 10.1, 9.9, 10, 10.1);

  it('a comparison ignores latencies of runs that other programs disturbed, and reports the cause', () => {
    const slow = disturbed(1.1, latencies(20, 20.1, 19.9, 20, 20.1));
    assert.equal(answer(quiet, slow, ONE_WAY), 'inconclusive');
    const comparison = compareSets([quiet, slow]);
    assert.equal(comparisonHeadline(comparison, 1).answer, 'inconclusive');
    assert.match(textOf(comparison), /CPU do not count: .* used 1\.10 of 2 cores during the ramp \(tsc: 1\.10\)/);
  });

  it('a comparison is inconclusive if other programs disturbed the runs of both sides', () => {
    const series = (...p50s: number[]) => disturbed(1.1, latencies(...p50s));
    const headline = comparisonHeadline(compareSets([series(10, 10.1, 9.9, 10), series(20, 20.1, 19.9, 20)]), 1);
    assert.equal(headline.answer, 'inconclusive', headline.text);
    assert.match(headline.text, /^times, rates and CPU do not count/);
  });

  it('a comparison uses counts and memory of runs that other programs disturbed', () => {
    assert.equal(answer(failed(0), disturbed(1.1, failed(7)), 'connections.failed'), 'worse');
    assert.equal(answer(slopeRun(1000, 10), disturbed(1.1, slopeRun(2000, 10)), WORKER), 'worse');
  });

  it('a comparison reports how many of its runs other programs disturbed', () => {
    const some = setOf(...quiet.results, ...disturbed(1.1, latencies(20)).results);
    assert.match(textOf(compareSets([quiet, some])), /times, rates and CPU of 1 do not count/);
  });

  it('a comparison uses undisturbed and slightly disturbed runs of a series with disturbed runs', () => {
    const slow = latencies(20, 20.1, 19.9);
    const mixed = setOf(...slow.results, ...disturbed(1.1, latencies(500, 900)).results);
    assert.equal(answer(quiet, mixed, ONE_WAY), 'worse');
    assert.equal(answer(quiet, disturbed(0.3, slow), ONE_WAY), 'worse');
    assert.equal(answer(quiet, disturbed(0.3, slow, 1.8), ONE_WAY), 'inconclusive', 'they left no more than that idle');
    const one = setOf(...disturbed(1.1, latencies(900)).results, ...latencyOfOne(10.1).results);
    assert.equal(answer(latencyOfOne(10), one, ONE_WAY), 'inconclusive');
  });
});
