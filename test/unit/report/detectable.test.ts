import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareSets, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonDocument } from '../../../report/compare/compare-page.ts';
import { detectableChanges, detectableText, detectsShare } from '../../../report/compare/detectable.ts';
import { mean } from '../../../report/statistics/statistics.ts';
import { normals } from '../../helpers/random-source.ts';
import { perfectResult } from '../../helpers/results.ts';
import { answer } from '../../helpers/run-sets.ts';

const P99 = 'latency.oneWayMs.p99';
const NOISE = 0.1;
const SERIES = 20;

/** Returns a run that has only this figure, so that nothing else is compared. */
function runOf(p99: number) {
  const result = perfectResult();
  if (result.latency.oneWayMs) result.latency.oneWayMs.p99 = p99;
  return { ...result, memory: { ...result.memory, perConnectionBytes: {} }, cpu: {} } as typeof result;
}

const side = (...p99s: number[]): RunSet => ({ name: '', results: p99s.map(runOf) });

const answerOf = (a: RunSet, b: RunSet) => answer(a, b, P99) ?? 'inconclusive';

describe('the detectable difference', () => {
  it('a comparison finds a detectable difference in four of five cases, and reports equal sides rarely', () => {
    const normal = normals(17);
    const draw = (level: number) => side(...Array.from({ length: 8 }, () => level + 100 * NOISE * normal()));
    const share = detectableShare(draw);
    const seen = (level: number) => {
      const answers = Array.from({ length: 60 }, () => answerOf(draw(100), draw(level)));
      return answers.filter((one) => one === 'worse').length / answers.length;
    };
    const power = seen(100 * (1 + share));
    assert.ok(power > 0.7 && power < 0.9, `${power} of ${share}`);
    assert.ok(seen(100) < 0.04);
  });

  it('the answer of a comparison has the detectable difference of each deciding figure', () => {
    const comparison = compareSets([side(99, 100, 101, 100, 102), side(98, 100, 103, 100, 101)]);
    assert.match(detectableText(comparison, 1) ?? '', /^would have shown a change of \d+ % in .*One way p99/);
    assert.match(comparisonDocument(comparison).answer.lines.join('\n'), /B against A would have shown/);
  });
});

/** Returns the mean detectable share of many comparisons. */
function detectableShare(draw: (level: number) => RunSet): number {
  const shares = Array.from({ length: 30 }, () => {
    const found = detectableChanges(compareSets([draw(100), draw(100)]), 1);
    return found.find(({ title }) => /one way p99/i.test(title))?.share ?? Number.NaN;
  });
  return mean(shares);
}

describe('runs that continue until a change of 20 % would be detected', () => {
  /** @returns the number of runs per side until the end, and the answer */
  function made(normal: () => number, level: number): { runs: number; answer: string } {
    const sides = [side(), side()] as const;
    for (;;) {
      for (const [index, { results }] of sides.entries())
        results.push(runOf((index === 0 ? 100 : level) * (1 + NOISE * normal())));
      const comparison = compareSets([...sides], { margin: 0.2 });
      const runs = sides[0].results.length;
      const answer = comparison.figures.find(({ path }) => path === P99)?.differences[0]?.answer ?? 'inconclusive';
      if (runs === 40 || (runs > 2 && detectsShare(comparison, 1, 0.2))) return { runs, answer };
    }
  }

  it('runs that continue until a 20 % change is detectable find it without raising false alarms', () => {
    const normal = normals(23);
    const series = (level: number) => Array.from({ length: SERIES }, () => made(normal, level));
    const [same, slower] = [series(100), series(120)];
    assert.ok(slower.filter(({ answer }) => answer === 'worse').length >= 14, JSON.stringify(slower));
    assert.ok(same.filter(({ answer }) => answer !== 'no-difference').length <= 3, JSON.stringify(same));
    assert.ok([...same, ...slower].every(({ runs }) => runs >= 4 && runs < 40));
  });

  it('a series stops waiting for a detectable difference that no number of runs would show', () => {
    const sets = [side(100, 101, 99, 100), side(99, 100, 101, 100)];
    for (const { connections } of sets.flatMap(({ results }) => results)) {
      Object.assign(connections.connectMs ?? {}, { p99: 2 });
    }
    assert.equal(detectsShare(compareSets(sets), 1, 0.2), true);
  });

  it('no number of runs is enough to detect a change if the noise is unknown', () => {
    assert.equal(detectsShare(compareSets([side(100), side(100)]), 1, 0.2), false);
  });
});
