/** A comparison in words: its headline, and its report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Study } from '../../../protocol/documents/study.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { compare, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonDocument, seriesDocument } from '../../../report/compare/document.ts';
import { headlineOf } from '../../../report/compare/text.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { summarize } from '../../../report/study/summarize.ts';
import { failed, invalid, latencies, run, setOf, slopeRun } from '../../helpers/run-sets.ts';

describe('the headline', () => {
  const side = (valid: number, spoilt: number, missing = 0): RunSet => {
    const runs = (count: number) => setOf(...Array.from({ length: count }, () => run()));
    return { ...setOf(...runs(valid).results, ...invalid(runs(spoilt)).results), lost: missing };
  };
  const repeated = (result: Result) => setOf(result, result, result);
  const withDelivery = repeated(run());
  const without = repeated(run((one) => (one.delivery = null)));
  const partly = setOf(...withDelivery.results.slice(2), ...without.results.slice(1));
  const steady = latencies(50, 51, 49, 50, 50);
  const faster = latencies(30, 31, 29, 30, 30);
  const CASES: [what: string, a: RunSet, b: RunSet, answer: string, text: RegExp][] = [
    ['names what is worse, also of single runs', failed(0), failed(400), 'worse', /^worse in Connections failed; /],
    ['single runs without a difference', failed(0), failed(0), 'cannot-tell', /^inconclusive for \d+/],
    ['series without one', steady, steady, 'no-difference', /^no difference/],
    ['series with one', steady, faster, 'better', /^better in One way p50$/],
    ['what only one side has', withDelivery, without, 'cannot-tell', /not known of B: D/],
    ['what most runs of a side lack', withDelivery, partly, 'cannot-tell', /^known in 1 of 3 runs of B: Delivered/],
    ['what most runs of the reference lack', partly, withDelivery, 'cannot-tell', /^known in 1 of 3 runs of A: D/],
    ['most runs INVALID', side(5, 0), side(1, 4), 'worse', /^worse in Usable runs/],
    ['most runs without a result', side(5, 0), side(1, 0, 4), 'worse', /^worse in Usable runs/],
    ['all runs INVALID', side(5, 0), side(0, 5), 'worse', /^worse in Usable runs/],
    ['most were INVALID', side(1, 4), side(5, 0), 'better', /^better in Usable runs/],
    ['one of several INVALID', side(5, 0), side(4, 1), 'cannot-tell', /^0 of 5 and 1 of 5 runs/],
    ['one more INVALID than before', side(3, 2), side(2, 3), 'cannot-tell', /^2 of 5 and 3 of 5 runs/],
    ['none with a result', side(5, 0), side(0, 0, 5), 'worse', /^worse in Usable runs/],
    ['a single run INVALID', side(1, 0), side(0, 1), 'cannot-tell', /INVALID/],
    ['one on both sides', side(4, 1), side(4, 0, 1), 'no-difference', /^no difference/],
  ];
  for (const [what, a, b, expected, text] of CASES) {
    it(what, () => {
      const headline = headlineOf(compare([a, b]), 1);
      assert.equal(headline.answer, expected, headline.text);
      assert.match(headline.text, text);
    });
  }
});

describe('a comparison as a report', () => {
  const one = (name: string, change?: (result: Result) => unknown): RunSet => ({ name, results: [run(change)] });
  const options = { color: false, width: 80 };

  it('has the answer first, and each difference with its sign', () => {
    const document = comparisonDocument(compare([slopeRun(15_000, 300), slopeRun(18_000, 300)]));
    assert.equal(document.answer.tone, 'bad');
    const text = renderConsole(document, options);
    assert.match(text, /^B against A: worse in Workers PSS per connection/);
    assert.match(text, /Workers PSS per connection, KB +14\.6 +17\.6 +▼ WORSE +\+20 ± [\d.]+ %/);
    assert.match(text, /B against A\n {2}Figure .*\n {2}Workers PSS/, 'differences come first');
    assert.match(renderHtml(document), /class="worse"><span aria-hidden="true">▼ <\/span>WORSE/);
  });

  it('of different loads names what differs, and compares no counts of connections', () => {
    const other = one('5k', ({ run: it, connections, environment }) => {
      Object.assign(it, { scenario: '10k' });
      Object.assign(connections, { target: 10_000, peak: 10_000, held: 10_000 });
      environment.settings = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`option${index}`, index]));
      environment.settings.phases = [{ name: 'ramp', duration: 2, arrivalRate: 125, rampTo: 125 }, { pause: 4 }];
    });
    const { answer: found, sections } = comparisonDocument(compare([one('1k'), other]));
    const named = found.lines.filter((line) => /different load: scenario, connections, .*option29/.test(line));
    assert.equal(named.length, 1);
    assert.ok(found.lines.some((line) => /^The loads differ/.test(line)));
    const file = comparisonDocument(
      compare([one('1k'), one('1k', ({ run: it }) => Object.assign(it, { scenario: 'after' }))]),
    );
    assert.ok(!file.answer.lines.some((line) => /^The loads differ/.test(line)), 'of the same load in another file');
    const [figures, conditions] = sections.map(({ blocks }) => JSON.stringify(blocks));
    assert.doesNotMatch(figures ?? '', /Peak connections|One way|Connect rate/, 'they follow the load');
    assert.match(figures ?? '', /Memory per connection.*CPU per message/);
    assert.match(conditions ?? '', /"phases","load","[^"]*","2 s at 125\/s, 4 s pause"/);
    assert.match(conditions ?? '', /option29/);
  });

  it('a series of two runs does not tell an interval, and one of three does', () => {
    const series = (...values: number[]) => {
      const { results } = latencies(...values);
      const plan = { scenario: '5k', vary: {}, servers: {}, except: [], repeat: values.length, seed: 1 };
      const measured = results.map((result) => ({ levels: {}, result }));
      const study = { plan, ...summarize(plan, measured) };
      return renderConsole(seriesDocument(study as unknown as Study, measured), options);
    };
    assert.match(series(10, 12), /11\.0 +1\.41 +10\.0 +12\.0/);
    assert.match(series(10, 12, 11), /11\.0 ± 23 % +1\.00 +10\.0 +12\.0/);
  });
});
