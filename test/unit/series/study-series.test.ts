import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { runSeries } from '../../../plugin/series/series.ts';
import { exitCodeOfStudy, plannedRunsInOrder, studySeries } from '../../../plugin/series/study-series.ts';
import type { LevelCombination, StudyPlan } from '../../../protocol/documents/study-schema.ts';
import { combinationLabel } from '../../../report/study/summarize.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';
import { finding } from '../../helpers/findings.ts';

const PLAN: StudyPlan = {
  scenario: '1k.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2, 4] },
  servers: {},
  except: [],
  repeat: 20,
  seed: 1,
};

describe('the order of runs', () => {
  const order = plannedRunsInOrder(PLAN);
  const blocks = [...Map.groupBy(order, ({ block }) => block).values()].map((runs) =>
    runs.map(({ levels }) => combinationLabel(levels)),
  );

  it('a study runs every combination once in each block', () => {
    assert.deepEqual([...new Set(order.map(({ block }) => block))].length, 20);
    for (const block of blocks) {
      assert.deepEqual(block.toSorted(), blocks[0]?.toSorted());
      assert.equal(new Set(block).size, 6);
    }
  });

  it('a study runs every second block in reverse order, so that drift affects all combinations alike', () => {
    for (let index = 0; index < 20; index += 2) assert.deepEqual(blocks[index + 1], blocks[index]?.toReversed());
    assert.equal(new Set(blocks.map(([first]) => first)).size, 6);
    assert.ok(new Set(blocks.map((block) => block.join())).size > 15);
  });

  it('the order of the runs of a study depends only on its plan, including the seed', () => {
    assert.deepEqual(plannedRunsInOrder(PLAN), order);
    assert.notDeepEqual(plannedRunsInOrder({ ...PLAN, seed: 2 }), order);
  });
});

/** @param body code of the stub that replaces Artillery */
function begin(t: TestContext, body: string, vary: StudyPlan['vary'], changes: Partial<StudyPlan> = {}) {
  const { folder, artillery, write } = fakeArtillery(t, body);
  const plan = { ...PLAN, vary, repeat: 2, ...changes };
  const run = async (later: Partial<StudyPlan> = {}) => {
    const series = studySeries({
      ...{ folder: `${folder}/runs`, name: 'runs', title: '', plan: { ...plan, ...later }, scenarioHash: 'abc' },
      commandOf: ({ RATE }: LevelCombination) => ({
        scenario: '1k.yml',
        args: [],
        overrides: {},
        env: { RATE: `${RATE}` },
      }),
    });
    const made = await runSeries(series, { artillery, signal: new AbortController().signal, print: () => {} });
    const page = readFileSync(`${folder}/runs/study.html`, 'utf8');
    const answerText = series.reportOf(made.document, made.runs).answer.lines.join('\n');
    return { ...made.document, page, said: answerText, exitCode: exitCodeOfStudy(plan, made.runs) };
  };
  return { plan, run, write };
}

describe('the runs of a plan', () => {
  /** Code that refuses runs at 30/s while the file contains true. */
  const REFUSES = `if (process.env.RATE === '30' && read('refuses.json')) process.exit(2); else leave();`;
  const vary = { RATE: [10, 20, 30], hold: [1] };

  it('a study makes all runs of its plan, and the next start repeats refused runs', async (t) => {
    const { plan, run, write } = begin(t, REFUSES, vary);
    write('refuses.json', true);
    const study = await run();
    const expected = plannedRunsInOrder(plan).map(({ block, levels }) => [
      block,
      levels.RATE,
      levels.RATE === 30 ? 2 : 0,
    ]);
    assertEach(study.runs, ({ block, exitCode, levels }) => [block, levels.RATE, exitCode], expected);
    assertEach(study.combinations, ({ levels, usable }) => `${levels.RATE}: ${usable}`, ['10: 2', '20: 2', '30: 0']);
    assert.equal(study.exitCode, 2);

    // The next start repeats only the refused runs, and their new results count.
    write('refuses.json', false);
    const resumed = await run();
    const later = resumed.runs.slice(6).map(({ number, levels, exitCode }) => `${number}: ${levels.RATE}, ${exitCode}`);
    assert.deepEqual(later, ['7: 30, 0', '8: 30, 0']);
    assert.deepEqual(column(resumed.combinations, 'usable'), [2, 2, 2]);
    const more = await run({ repeat: 3 });
    assert.deepEqual([more.runs.length, more.planned, more.startedAt], [11, 9, study.startedAt]);
  });

  for (const [levels, made] of [
    [[30], 1],
    [[10, 30], 2],
  ] as const) {
    it(`a study of ${levels.length} levels ends after a round that measured fewer than two combinations`, async (t) => {
      const { run, write } = begin(t, REFUSES, { RATE: [...levels] });
      write('refuses.json', true);
      const { runs, exitCode } = await run();
      assert.deepEqual([runs.length, exitCode], [made, 2]);
      write('refuses.json', false);
      // Without any result, there is nothing to resume.
      assert.equal((await run()).runs.length, levels.length === 1 ? 2 : 5);
    });
  }
});

describe('runs that other programs disturbed', () => {
  const vary = { RATE: [10, 20] };
  /** Code for stubs. `run` is the number of the run, from 1. `disturb` marks a result as disturbed. */
  const DISTURB = `
    const file = join(__dirname, 'count');
    const run = existsSync(file) ? Number(readFileSync(file)) + 1 : 1;
    writeFileSync(file, String(run));
    const disturb = (share) => (result) => {
      const known = { seconds: 10, cores: 2, busyCores: 2, errorCores: 0.01 };
      const none = { oursCores: 0, kernelCores: 0, stealCores: 0, pressure: null, programs: [] };
      const window = { ...known, ...none, window: 'broadcasts', othersCores: 2 * share };
      result.machine = { ...result.machine, others: { windows: [window] } };
      result.connections.failed = Math.round(100 * share);
    };`;
  const disturbed = (t: TestContext, body: string, changes?: Partial<StudyPlan>) =>
    begin(t, DISTURB + body, vary, changes).run();

  it('a study excludes runs that other programs disturbed, and repeats them immediately', async (t) => {
    const made = await disturbed(t, 'leave(run === 2 ? disturb(0.4) : undefined);');
    for (const text of [made.said, made.page]) assert.match(text, /Excluded and repeated: 1 run/);
    const [, second, third, ...others] = made.runs;
    assert.equal(others.length, 2);
    assert.deepEqual([third?.block, third?.levels, third?.problem], [second?.block, second?.levels, null]);
    assert.match(second?.problem ?? '', /^repeated: .*0.80 of 2 cores/);
    // The counts of the disturbed run are left out.
    const counts = made.combinations.map(({ usable, figures }) => [usable, figures['connections.failed']?.max]);
    assert.deepEqual(counts, [
      [2, 0],
      [2, 0],
    ]);
  });

  it('a study repeats a disturbed run at most once, and uses the less disturbed of both', async (t) => {
    const body = 'leave(disturb(run % 2 === 1 ? 0.3 : 0.6)); process.exitCode = run % 2 === 1 ? 3 : 4;';
    const { runs, said, exitCode, combinations } = await disturbed(t, body);
    assert.match(said, /Excluded and repeated: 4 runs/);
    assert.equal(exitCode, 3, 'of the runs whose figures count');
    assertEach(runs, ({ problem }) => problem === null, Array(4).fill([true, false]).flat());
    const counts = combinations.map(({ usable, figures }) => [usable, figures['connections.failed']?.max]);
    assert.deepEqual(counts, [
      [2, 30],
      [2, 30],
    ]);
  });

  it('a study uses a disturbed run if its repetition is refused', async (t) => {
    const body = 'if (run === 2) process.exit(2); leave(run === 1 ? disturb(0.4) : undefined);';
    const { runs, combinations, exitCode, said } = await disturbed(t, body);
    assert.deepEqual([runs.length, column(combinations, 'usable'), exitCode], [5, [2, 2], 5], 'its times are open');
    assert.doesNotMatch(said, /Excluded/);
  });

  it('a study uses a disturbed run in which the deployment failed, in addition to its repetition', async (t) => {
    const crash = `(result) => {
      disturb(0.4)(result);
      result.findings = ${JSON.stringify([finding('MEMBERS_DISAGREE')])};
      result.verdict = { status: 'INVALID' };
    }`;
    const first = await disturbed(t, `leave(run === 1 ? ${crash} : undefined);`);
    assert.deepEqual([first.runs.length, column(first.combinations, 'usable')], [4, [2, 1]], first.said);
    const secondCrash = await disturbed(t, `leave(run === 1 ? disturb(0.3) : run === 2 ? ${crash} : undefined);`);
    assert.deepEqual(
      [secondCrash.runs.length, column(secondCrash.combinations, 'usable')],
      [5, [2, 2]],
      secondCrash.said,
    );
    const problems = [null, 'INVALID: MEMBERS_DISAGREE', null, null, null];
    assert.deepEqual(column(secondCrash.runs, 'problem'), problems, 'no run is excluded');
    const loses = `(result) => {
      disturb(0.4)(result);
      result.findings = ${JSON.stringify([finding('COPIES_LOST')])};
    }`;
    const lossy = await disturbed(t, `leave(run === 1 ? ${loses} : undefined);`);
    assert.equal(lossy.runs.length, 4, lossy.said);
  });

  it('a study ends after the first whole block with which it can detect the requested change', async (t) => {
    const { runs, said, page, exitCode } = await disturbed(t, 'leave();', { repeat: 20, detect: 0.2 });
    assert.deepEqual([runs.length, exitCode], [8, 0]);
    assert.match(said, /RATE=20 against RATE=10 would have shown a change of /);
    assert.match(page, /8 of at most 40 runs are done/);
    assert.doesNotMatch(page, /not made yet/);
  });
});
