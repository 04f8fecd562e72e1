/** The levels that a search tries, against simulated deployments. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_CEILING, nextStep, runsLeft } from '../../../plugin/cli/search/next.ts';
import { bracket, type Tried } from '../../../report/search/bracket.ts';

const RULES = { from: 1000, to: null as number | null, factor: 2, tolerance: 0.05, repeat: 2 };
const whole = (level: number) => Math.max(1, Math.floor(level));

type Outcome = Tried['outcome'] | { blame: Tried['blame'] };

interface Simulated {
  deployment(level: number, tries: number): Outcome;
  rules?: Partial<typeof RULES>;
  snap?: (level: number) => number;
  ceiling?: number;
  before?: Tried[];
}

/** Searches until the end, or as far as `most` runs. */
function search({ deployment, rules, snap = whole, ceiling = NO_CEILING, before = [] }: Simulated, most = 100) {
  const runs = [...before];
  for (let fresh = 0; fresh < most; fresh++) {
    const step = nextStep(runs, fresh, { ...RULES, ...rules }, snap, ceiling);
    if ('end' in step) return { ...step, runs, levels: runs.map(({ level }) => level), ...bracket(runs) };
    const outcome = deployment(step.level, runs.filter(({ level }) => level === step.level).length);
    runs.push(
      typeof outcome === 'string'
        ? { level: step.level, outcome, blame: outcome === 'breaks' ? 'deployment' : null }
        : { level: step.level, outcome: 'cannotTell', blame: outcome.blame },
    );
  }
  return { end: undefined, runs, levels: runs.map(({ level }) => level), ...bracket(runs) };
}

const breaksAbove = (limit: number) => (level: number) => (level > limit ? 'breaks' : 'holds');

describe('a search', () => {
  it('steps up, bisects, and confirms what held', () => {
    const found = search({ deployment: breaksAbove(41_000) });
    assert.equal(found.end, 'found');
    assert.deepEqual(found.levels.slice(0, 7), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000]);
    assert.deepEqual(found.levels.slice(-2), [found.held, found.held]);
    assert.equal(found.heldRuns, 3);
  });

  it('is right to the tolerance wherever the limit is', () => {
    for (let limit = 1; limit < 200_000; limit = Math.ceil(limit * 1.37)) {
      const { end, held = 0, broke = 0, runs } = search({ deployment: breaksAbove(limit) });
      assert.equal(end, 'found', String(limit));
      assert.ok(held <= limit && broke > limit, `${held} ${limit} ${broke}`);
      assert.ok(broke - held <= Math.max(1, held * 0.05), `${held} ${broke}`);
      assert.ok(runs.length < 30, `${runs.length} runs for ${limit}`);
    }
  });

  it('searches below a first level that breaks, and ends where nothing holds', () => {
    const { held: low = 0 } = search({ deployment: breaksAbove(90) });
    assert.ok(low <= 90 && low > 90 / 1.05, String(low));
    const { end, held, broke } = search({ deployment: () => 'breaks' });
    assert.deepEqual([end, held, broke], ['none', undefined, 1]);
  });

  it('lowers the answer when a confirmation breaks', () => {
    // At 40,000 and above, one run in two breaks.
    const noisy = search({
      deployment: (level, tries) => (level > 64_000 || (level > 40_000 && tries % 2 === 1) ? 'breaks' : 'holds'),
    });
    assert.equal(noisy.end, 'found');
    assert.ok((noisy.held ?? 0) <= 40_000 && (noisy.held ?? 0) > 38_000, String(noisy.held));
    assert.equal(noisy.heldRuns, 3);
    assert.ok(
      noisy.runs.some(({ level, outcome }) => outcome === 'holds' && level > 40_000),
      'what held by luck is kept',
    );
  });

  it('stops at once where the generator, its machine or the measurement is the limit', () => {
    for (const blame of ['generator', 'machine', 'measurement'] as const) {
      const { end, levels, held } = search({ deployment: (level) => (level > 3000 ? { blame } : 'holds') });
      assert.deepEqual({ end, levels, held }, { end: blame, levels: [1000, 2000, 4000], held: 2000 });
    }
    assert.equal(search({ deployment: (level) => (level > 3000 ? 'error' : 'holds') }).end, 'error');
  });

  it('tries once more what ended an earlier start, and nothing else', () => {
    const stopped = search({ deployment: (level) => (level > 3000 ? { blame: 'generator' } : 'holds') });
    const resumed = search({ deployment: breaksAbove(5000), before: stopped.runs });
    assert.equal(resumed.end, 'found');
    assert.deepEqual(resumed.levels.slice(0, 5), [1000, 2000, 4000, 4000, 8000]);
    const again = search({ deployment: () => assert.fail('it is finished'), before: resumed.runs });
    assert.deepEqual([again.end, again.held], ['found', resumed.held]);
  });

  it('continues wherever it was interrupted', () => {
    const deployment = breaksAbove(41_000);
    const whole = search({ deployment });
    for (let most = 0; most < whole.runs.length; most++) {
      const part = search({ deployment }, most);
      assert.deepEqual(search({ deployment, before: part.runs }).levels, whole.levels);
    }
  });

  it('measures up to the highest level that is asked for, or that the machine allows', () => {
    const highest = search({ deployment: () => 'holds', rules: { to: 5000 } });
    assert.deepEqual([highest.end, highest.levels], ['highest', [1000, 2000, 4000, 5000, 5000, 5000]]);
    const machine = search({ deployment: () => 'holds', ceiling: 5000 });
    assert.deepEqual([machine.end, machine.held], ['doctor', 5000]);
    // Just above what held, an estimate is not worth a run.
    assert.equal(search({ deployment: () => 'holds', ceiling: 4100 }).held, 4000);
    assert.deepEqual(search({ deployment: () => 'holds', ceiling: 600 }).levels, [600, 600, 600]);
    const least = search({ deployment: () => 'holds', ceiling: 600, snap: (level) => Math.max(700, level) });
    assert.deepEqual([least.end, least.levels], ['doctor', []]);
  });

  it('ends where there is no level in between, and where there is none above', () => {
    // The rates of 100 arrivals in whole seconds, at least two.
    const snap = (rate: number) => 100 / Math.max(2, Math.ceil(100 / rate - 1e-9));
    const coarse = search({ deployment: breaksAbove(30), rules: { from: 5 }, snap });
    assert.deepEqual([coarse.end, coarse.held, coarse.broke], ['found', 25, 100 / 3]);
    const all = search({ deployment: () => 'holds', rules: { from: 5 }, snap });
    assert.deepEqual([all.end, all.held], ['highest', 50]);
  });

  it('says how many runs there are left at most', () => {
    const deployment = breaksAbove(41_000);
    const { runs } = search({ deployment });
    const broken = runs.findIndex(({ outcome }) => outcome === 'breaks') + 1;
    assert.equal(runsLeft(runs.slice(0, broken - 1), RULES), undefined);
    for (let made = broken; made < runs.length; made++) {
      const left = runsLeft(runs.slice(0, made), RULES) ?? 0;
      assert.ok(
        left >= runs.length - made && left <= runs.length - made + 1,
        `${left} after ${made} of ${runs.length}`,
      );
    }
  });
});
