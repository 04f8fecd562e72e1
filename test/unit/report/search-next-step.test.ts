/** Tests the levels that a search tries, with simulated deployments. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BENCH_SEARCH_RULES, SIMULATED_DEPLOYMENTS, summarizeSearches } from '../../../bench/bench-search.ts';
import { findBracket, levelOutcome, type TriedRun } from '../../../report/search/bracket.ts';
import { maxRunsLeft, NO_CEILING, nextSearchStep, restBeforeNextRun } from '../../../report/search/next-search-step.ts';
import { assertEach, columns } from '../../helpers/columns.ts';

const whole = (level: number) => Math.max(1, Math.floor(level));

type Outcome = TriedRun['outcome'] | { blame: TriedRun['blame'] };

interface Simulated {
  deployment(level: number, tries: number, runs: TriedRun[]): Outcome;
  rules?: { from?: number; to?: number };
  snap?: (level: number) => number;
  ceiling?: number;
  before?: TriedRun[];
}

/** Searches until the end, or for at most `maxRuns` runs. */
function search({ deployment, rules, snap = whole, ceiling = NO_CEILING, before = [] }: Simulated, maxRuns = 100) {
  const runs = [...before];
  for (let fresh = 0; fresh < maxRuns; fresh++) {
    const step = nextSearchStep(runs, fresh, { ...BENCH_SEARCH_RULES, ...rules }, snap, ceiling);
    if ('end' in step) return { ...step, ...foundIn(runs) };
    const outcome = deployment(step.level, runs.filter(({ level }) => level === step.level).length, runs);
    runs.push(
      typeof outcome === 'string'
        ? { ...step, outcome, blame: outcome === 'breaks' ? 'deployment' : null }
        : { ...step, outcome: 'cannotTell', blame: outcome.blame },
    );
  }
  return { end: undefined, ...foundIn(runs) };
}

function foundIn(runs: TriedRun[]) {
  const { held, broke } = findBracket(runs);
  const levels = runs.map(({ level }) => level);
  return { runs, levels, held: held?.level, heldRuns: held?.held, broke: broke?.level, brokeRuns: broke?.broke };
}

const breaksAbove = (limit: number) => (level: number) => (level > limit ? 'breaks' : 'holds');

describe('a search', () => {
  it('a search steps up, bisects, and confirms the level that held', () => {
    const found = search({ deployment: breaksAbove(41_000) });
    assert.equal(found.end, 'found');
    assert.deepEqual(found.levels.slice(0, 7), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000]);
    assert.deepEqual(columns(found.runs.slice(7, 10), 'level', 'purpose'), {
      level: [32_000, 64_000, 48_000],
      purpose: ['control', 'again', 'bisect'],
    });
    assert.equal(restBeforeNextRun(found.runs.slice(0, 9), 30), 30, 'it had recovered');
    assert.deepEqual([found.heldRuns, found.brokeRuns], [3, 3]);
    assert.deepEqual(found.levels.slice(-2), [found.held, found.broke], 'what broke is asked once more, too');
  });

  it('a search finds any limit to within its tolerance', () => {
    for (let limit = 1; limit < 200_000; limit = Math.ceil(limit * 1.37)) {
      const { end, held = 0, broke = 0, runs } = search({ deployment: breaksAbove(limit) });
      assert.equal(end, 'found', String(limit));
      assert.ok(held <= limit && broke > limit, `${held} ${limit} ${broke}`);
      assert.ok(broke - held <= Math.max(1, held * 0.025), `${held} ${broke}`);
      assert.ok(runs.length < 40, `${runs.length} runs for ${limit}`);
    }
  });

  it('a search continues below a first level that breaks, and ends if no level holds', () => {
    const { held: low = 0 } = search({ deployment: breaksAbove(90) });
    assert.ok(low <= 90 && low > 90 / 1.05, String(low));
    const { end, held, broke } = search({ deployment: () => 'breaks' });
    assert.deepEqual([end, held, broke], ['none', undefined, 1]);
  });

  it('a search lowers its answer if the confirming runs break', () => {
    // Between 40,000 and 42,000, only the first run at a level holds.
    const noisy = search({
      deployment: (level, tries) => (level >= 42_000 || (level > 40_000 && tries > 0) ? 'breaks' : 'holds'),
    });
    assert.equal(noisy.end, 'found');
    assert.ok((noisy.held ?? 0) <= 40_000 && (noisy.held ?? 0) > 38_000, String(noisy.held));
    assert.equal(noisy.heldRuns, 3);
    const lucky = noisy.runs.filter(({ level, outcome }) => outcome === 'holds' && level > 40_000);
    assert.ok(lucky.length > 0, 'what held by luck is kept');
  });

  it('a search retries once and then stops if the generator, its machine or the measurement is the limit', () => {
    for (const blame of ['generator', 'machine', 'measurement'] as const) {
      const { end, levels, held } = search({ deployment: (level) => (level > 3000 ? { blame } : 'holds') });
      assert.deepEqual({ end, levels, held }, { end: blame, levels: [1000, 2000, 4000, 4000], held: 2000 });
    }
    const disturbed = search({
      deployment: (level, tries) => (level === 4000 && tries === 0 ? { blame: 'machine' } : breaksAbove(5000)(level)),
    });
    assert.deepEqual([disturbed.end, disturbed.levels.slice(2, 5)], ['found', [4000, 4000, 8000]]);
    assert.equal(restBeforeNextRun(disturbed.runs.slice(0, 3), 30), 30);
    assert.equal(search({ deployment: (level) => (level > 3000 ? { blame: null } : 'holds') }).end, 'measurement');
    const failed = search({ deployment: (level) => (level > 3000 ? 'error' : 'holds') });
    assert.equal(failed.end, 'error');
    assert.equal(search({ deployment: breaksAbove(5000), before: failed.runs }).end, 'found', 'when it is resumed');
  });

  it('a resumed search retries once only the level at which it ended', () => {
    const stopped = search({ deployment: (level) => (level > 3000 ? { blame: 'generator' } : 'holds') });
    const resumed = search({ deployment: breaksAbove(5000), before: stopped.runs });
    assert.equal(resumed.end, 'found');
    assert.deepEqual(resumed.levels.slice(0, 6), [1000, 2000, 4000, 4000, 4000, 8000]);
    const disturbed = search({
      deployment: (level, tries) => (level === 4000 && tries === 2 ? { blame: 'machine' } : breaksAbove(5000)(level)),
      before: stopped.runs,
    });
    assert.equal(disturbed.end, 'found', 'each start has two attempts');
    const finished = search({ deployment: () => assert.fail('it is finished'), before: resumed.runs });
    assert.deepEqual([finished.end, finished.held], ['found', resumed.held]);
  });

  it('a search continues after an interruption at any point', () => {
    const deployment = breaksAbove(41_000);
    const whole = search({ deployment });
    for (let maxRuns = 0; maxRuns < whole.runs.length; maxRuns++) {
      const part = search({ deployment }, maxRuns);
      assert.deepEqual(search({ deployment, before: part.runs }).levels, whole.levels);
    }
  });

  it('a search measures up to the highest level that is requested, or that the machine allows', () => {
    const highest = search({ deployment: () => 'holds', rules: { to: 5000 } });
    assert.deepEqual([highest.end, highest.levels], ['highest', [1000, 2000, 4000, 5000, 5000, 5000]]);
    assert.equal(search({ deployment: () => 'holds', rules: { to: 4100 } }).held, 4100, 'however near');
    const machine = search({ deployment: () => 'holds', ceiling: 5000 });
    assert.deepEqual([machine.end, machine.held], ['doctor', 5000]);
    // A ceiling that is only slightly above the held level is not tried, because it is an estimate.
    assert.equal(search({ deployment: () => 'holds', ceiling: 4100 }).held, 4000);
    assert.deepEqual(search({ deployment: () => 'holds', ceiling: 600 }).levels, [600, 600, 600]);
    const minimal = search({ deployment: () => 'holds', ceiling: 600, snap: (level) => Math.max(700, level) });
    assert.deepEqual([minimal.end, minimal.levels], ['doctor', []]);
  });

  it('a search ends if no whole number is left between the held and the broken level, or above', () => {
    // Possible rates: 100 arrivals in a whole number of seconds, at least two.
    const snap = (rate: number) => 100 / Math.max(2, Math.ceil(100 / rate - 1e-9));
    const coarse = search({ deployment: breaksAbove(30), rules: { from: 5 }, snap });
    assert.deepEqual([coarse.end, coarse.held, coarse.broke], ['found', 25, 100 / 3]);
    const all = search({ deployment: () => 'holds', rules: { from: 5 }, snap });
    assert.deepEqual([all.end, all.held], ['highest', 50]);
  });

  it('a search steps further up if levels are far apart, and finds single levels in between', () => {
    const ends = (level: number) => (level < 5000 ? 1000 : 5000);
    const far = search({ deployment: () => 'holds', rules: { to: 5000 }, snap: ends });
    assert.deepEqual([far.end, far.levels], ['highest', [1000, 5000, 5000, 5000]]);
    const { runs } = search({ deployment: breaksAbove(1000) }, 4);
    for (const only of [1500, 1625, 1375, 1750, 1250, 1875, 1938, 1125]) {
      const snap = (level: number) => (Math.abs(level - only) < 1 ? only : level < only ? 1000 : 2000);
      assert.deepEqual(nextSearchStep(runs, 4, BENCH_SEARCH_RULES, snap), { level: only, purpose: 'bisect' });
    }
  });

  it('a search judges a level by most of its runs, with at least two runs if it breaks', () => {
    const answer = (held: number, broke: number) => levelOutcome({ level: 1, held, broke })?.at(0) ?? '-';
    const rows = [0, 1, 2, 3].map((held) => [0, 1, 2, 3].map((broke) => answer(held, broke)).join(''));
    assert.deepEqual(rows, ['--bb', 'h-bb', 'hh-b', 'hhh-']);
  });

  it('a search counts a level as broken only if two runs, and most of its runs, broke', () => {
    const once = (at: number) =>
      search({ deployment: (level, tries) => (level > 8000 || (level === at && tries === 0) ? 'breaks' : 'holds') });
    for (const at of [1000, 2000, 8000]) {
      const { end, held = 0, runs } = once(at);
      assert.deepEqual([end, held > 7800 && held <= 8000], ['found', true], `${at}: ${held}`);
      assert.ok(runs.some(({ level, purpose }) => level === at && purpose === 'again'));
    }
    // Only the first run of the search fails. The level is tried again after another level has held.
    assert.deepEqual(once(1000).levels.slice(0, 4), [1000, 500, 1000, 1000]);
  });

  it('a search rests after each run that broke, and longer until the held level holds again', () => {
    // After a break of another level, no level holds for two runs.
    const recovering = search({
      deployment: (level, _, runs) => {
        const broken = runs.findLastIndex((run) => run.level > 1500 && run.outcome === 'breaks');
        const isRecovering = broken >= 0 && runs.length - broken <= 2 && restBeforeNextRun(runs, 30) < 120;
        return level > 1500 || isRecovering ? 'breaks' : 'holds';
      },
    });
    assert.equal(recovering.end, 'found');
    assert.ok((recovering.held ?? 0) > 1460 && (recovering.held ?? 0) <= 1500, String(recovering.held));
    const { runs } = recovering;
    const rests = runs.map((_, index) => restBeforeNextRun(runs.slice(0, index), 30));
    assertEach(runs.slice(0, 6), ({ level, purpose, outcome }, index) => [level, purpose, outcome, rests[index]], [
      [1000, 'step', 'holds', 0],
      [2000, 'step', 'breaks', 0],
      [1000, 'control', 'breaks', 30],
      [1000, 'control', 'breaks', 60],
      [1000, 'control', 'holds', 120],
      [2000, 'again', 'breaks', 0],
    ]);
    assert.ok(rests.every((rest, index) => index < 6 || rest === (runs[index - 1]?.outcome === 'breaks' ? 120 : 0)));
    const broken = { level: 1000, purpose: 'step', outcome: 'breaks', blame: 'deployment' } as const;
    const restsOfBroken = [0, 1, 2, 3, 6].map((count) => restBeforeNextRun(Array<TriedRun>(count).fill(broken), 30));
    assert.deepEqual(restsOfBroken, [0, 30, 60, 120, 120]);
    assert.equal(
      restBeforeNextRun([broken, { ...broken, outcome: 'holds' }, broken], 30),
      30,
      'something has held since',
    );
  });

  it('a search ends if the deployment does not recover, and retries that level when it resumes', () => {
    const dead = search({
      deployment: (level, _, runs) =>
        level > 3000 || runs.some((run) => run.outcome === 'breaks') ? 'breaks' : 'holds',
    });
    assert.deepEqual([dead.end, dead.held, dead.levels], ['recovery', 2000, [1000, 2000, 4000, 2000, 2000, 2000]]);
    const restarted = search({ deployment: breaksAbove(3000), before: dead.runs });
    assert.deepEqual([restarted.end, restarted.levels[6]], ['found', 2000]);
    assert.ok((restarted.held ?? 0) > 2900, String(restarted.held));
  });

  it('a search ends if many levels that had held break later, and continues when it resumes', () => {
    const deployment = (level: number, tries: number) =>
      level >= 64_000 || (level > 40_000 && tries > 0) ? 'breaks' : 'holds';
    const leaking = search({ deployment });
    assert.equal(leaking.end, 'recovery');
    assert.ok(leaking.runs.length < 40, `${leaking.runs.length} runs`);
    assert.notDeepEqual(nextSearchStep(leaking.runs, 0, BENCH_SEARCH_RULES, whole), { end: 'recovery' });
  });

  for (const [name, { repeat }] of Object.entries(SIMULATED_DEPLOYMENTS)) {
    it(`a search misses the limit by more than the tolerance in at most 5 % of cases: ${name}`, () => {
      const { offPercent, runs, most } = summarizeSearches(name, 500);
      assert.ok(offPercent <= 5, `${offPercent} %`);
      const times = repeat === undefined ? 1 : 2.5;
      assert.ok(runs <= 26 * times && most <= 42 * times, `${runs} runs, at most ${most}`);
    });
  }

  it('a search reports the maximum number of remaining runs', () => {
    const deployment = breaksAbove(41_000);
    // Level 1000 holds twice and 2000 breaks twice. Six halvings of 1000 give less than 25; three controls and a
    // confirmation of each level are added.
    const first = search({ deployment: breaksAbove(1000) }, 4).runs;
    const open = { level: 1500, purpose: 'bisect', outcome: 'breaks', blame: 'deployment' } as const;
    const lefts = [first, [...first, open], [open, open]].map((made) => maxRunsLeft(made, BENCH_SEARCH_RULES));
    assert.deepEqual(lefts, [17, 16, undefined]);
    const { runs } = search({ deployment });
    const broken = runs.findIndex(({ purpose }) => purpose === 'bisect');
    assert.equal(maxRunsLeft(runs.slice(0, broken - 1), BENCH_SEARCH_RULES), undefined);
    for (let made = broken; made < runs.length; made++) {
      const left = maxRunsLeft(runs.slice(0, made), BENCH_SEARCH_RULES) ?? 0;
      const after = runs.length - made;
      assert.ok(left >= after && left <= 2 * after + 1, `${left} after ${made} of ${runs.length}`);
    }
  });
});
