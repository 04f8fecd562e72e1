/** Tests the answers "no difference" and "inconclusive", with their exit codes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { studyDifferences } from '../../../bench/calibrate/study-differences.ts';
import { exitCodeOfOutcome } from '../../../protocol/codes/exit-codes.ts';
import { type Comparison, compareSets, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonOutcome } from '../../../report/compare/comparison-outcome.ts';
import { comparisonHeadline } from '../../../report/compare/text.ts';
import { uniforms } from '../../helpers/random-source.ts';
import { answer, failed, figure, invalid, run, setOf } from '../../helpers/run-sets.ts';

const P99 = 'latency.oneWayMs.p99';
const FAILED = 'connections.failed';

const p99s = (...values: number[]): RunSet =>
  setOf(...values.map((p99) => run(({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p99 }))));

const differenceOf = (sets: RunSet[], margin?: number) =>
  compareSets(sets, { margin }).figures.find(({ path }) => path === P99)?.differences[0];

const codeOf = (comparison: Comparison) => exitCodeOfOutcome(comparisonOutcome(comparison));

describe('the answer "no difference"', () => {
  const noisy: RunSet[] = [p99s(50, 400, 90), p99s(60, 700, 100)];

  it('a wide interval is inconclusive instead of "no difference", and shows how many runs are needed', () => {
    const wide = differenceOf(noisy);
    assert.equal(wide?.answer, 'inconclusive');
    assert.ok((wide?.high ?? 0) - (wide?.low ?? 0) > 1000);
    const { text, answer: whole } = comparisonHeadline(compareSets(noisy), 1);
    assert.equal(whole, 'inconclusive');
    assert.match(text, /^inconclusive \(runs of each side needed\): One way p99 \((about \d+|over 1,000)\)/);
    assert.equal(codeOf(compareSets(noisy)), 5);
  });

  it('answers "no difference" for an interval within the margin, which the user may set', () => {
    const sets = [p99s(100, 104, 96, 100, 103), p99s(101, 105, 97, 100, 104)];
    const byMargin = [0.02, 0.1, 0.2].map((margin) => differenceOf(sets, margin)?.answer);
    assert.deepEqual(byMargin, ['inconclusive', 'no-difference', 'no-difference']);
    assert.equal(codeOf(compareSets(sets)), 0);
    assert.equal(codeOf(compareSets(sets, { margin: 0.02 })), 5);
  });

  it('answers "no difference" for a detected difference if its whole interval is within the margin', () => {
    const sets = [p99s(100, 100.4, 99.6, 100, 100.2), p99s(112, 112.4, 111.6, 112, 112.3)];
    const byMargin = [0.1, 0.2, 0.5, 2].map((margin) => differenceOf(sets, margin)?.answer);
    assert.deepEqual(byMargin, ['worse', 'no-difference', 'no-difference', 'no-difference']);
    assert.equal(codeOf(compareSets(sets, { margin: 0.2 })), 0);
  });

  it('the answer "no difference" takes about as many runs as predicted', () => {
    const spread = [90, 110, 95, 105, 100];
    const sets = [p99s(...spread), p99s(...spread)];
    const needed = differenceOf(sets)?.runsNeeded ?? 0;
    assert.ok(needed > 5 && needed < 40, `${needed}`);
    const more = Array.from({ length: needed }, (_, index) => spread[index % spread.length] as number);
    assert.equal(differenceOf([p99s(...more), p99s(...more)])?.answer, 'no-difference');
  });
});

describe('counted faults', () => {
  const lost = (...counts: number[]): RunSet =>
    setOf(
      ...counts.map((count) =>
        run(({ delivery }) => delivery && Object.assign(delivery, { received: delivery.expected - count })),
      ),
    );
  const CASES: [what: string, a: number[], b: number[], expected: string][] = [
    ['no faults on either side', [0, 0], [0, 0, 0], 'no-difference'],
    ['no faults in single runs', [0], [0], 'no-difference'],
    ['faults in one of five runs against all of the other side', [100, 0, 0, 0, 0], [150, 150, 150, 150, 150], 'worse'],
    ['faults in all runs against none', [3, 1, 2], [0, 0, 0], 'better'],
    ['faults in a single run against none of five', [0, 0, 0, 0, 0], [1], 'worse'],
    ['faults in a single run against one of five', [0, 0, 100, 0, 0], [100], 'inconclusive'],
    ['equal faults in all runs', [400, 400, 401], [400, 402, 400], 'no-difference'],
    ['equal faults in single runs', [400], [400], 'inconclusive'],
    ['50 % more faults in single runs', [100], [150], 'inconclusive'],
    ['fewer faults in single runs', [100], [60], 'inconclusive'],
    ['39 times as many faults in single runs', [10], [400], 'worse'],
    ['faults in a single run, with repeats that vary as much', [100], [140, 300], 'inconclusive'],
    ['faults in a single run, with repeats that hardly vary', [100], [150, 149, 151, 150], 'worse'],
    [
      'a few more faults in all runs, within the margin',
      [100, 100, 100, 100, 100],
      [105, 105, 105, 105, 105],
      'no-difference',
    ],
    ['ten times as many faults in all runs', [40, 41, 39], [400, 410, 395], 'worse'],
    [
      'faults in one of twelve runs against eleven of twelve',
      [0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0, 5],
      'worse',
    ],
  ];
  for (const [what, a, b, expected] of CASES) {
    it(`the answer of a comparison with ${what}: ${expected}`, () => {
      assert.equal(answer(lost(...a), lost(...b), 'delivery.coverage'), expected);
      const codes = { worse: 1, inconclusive: 5, better: 0, 'no-difference': 0 };
      const own = compareSets([lost(...a), lost(...b)]);
      if (a.length > 1 && b.length > 1) assert.equal(codeOf(own), codes[expected as keyof typeof codes]);
    });
  }

  it('a study is inconclusive about faults in all runs of a level if faults vary between other runs', () => {
    const answerTo = (others: RunSet[]) =>
      figure([failed(0, 0), failed(7, 9), ...others], FAILED).differences[0]?.answer;
    assert.equal(answerTo([failed(0, 0)]), 'worse');
    assert.equal(answerTo([failed(0, 8)]), 'inconclusive');
  });
});

it('a comparison exits with the code of the worst answer: worse, then INVALID, then inconclusive', () => {
  const steady = p99s(100, 101, 99, 100);
  assert.equal(codeOf(compareSets([steady, p99s(300, 301, 299, 300)])), 1);
  assert.equal(codeOf(compareSets([steady, p99s(50, 51, 50, 50)])), 0);
  assert.equal(codeOf(compareSets([steady, steady])), 0);
  assert.equal(codeOf(compareSets([p99s(100), p99s(100)])), 5);
  assert.equal(codeOf(compareSets([p99s(100), invalid(p99s(100))])), 4);
  assert.equal(codeOf(compareSets([steady, invalid(p99s(100)), failed(400)])), 1);
});

it('at most 5 % of studies of equal settings report a difference, and studies detect a slower level', () => {
  const studies = 4;
  const { rows } = studyDifferences(studies, uniforms(5));
  const [unseen, ...equal] = rows.toReversed();
  const wrong = equal.reduce((sum, { measured }) => sum + (measured * studies) / 100, 0);
  assert.ok(wrong <= 0.05 * studies * equal.length, `${wrong} of ${studies * equal.length}`);
  assert.ok((unseen?.measured ?? 100) <= 50, `${unseen?.measured} % not seen`);
});
