/** Series whose runs are known before the first: those of studies and repeats. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { exitCodeOf, orderOf, type PlannedOptions, plannedSeries } from '../../../plugin/series/planned.ts';
import { runSeries } from '../../../plugin/series/series.ts';
import type { Levels, Plan } from '../../../protocol/documents/study.ts';
import { studyDocument } from '../../../report/study/document.ts';
import { labelOf } from '../../../report/study/summarize.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';

const PLAN: Plan = {
  scenario: '1k.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2, 4] },
  servers: {},
  except: [],
  repeat: 20,
  seed: 1,
};

describe('the order of runs', () => {
  const order = orderOf(PLAN);
  const blocks = [...Map.groupBy(order, ({ block }) => block).values()].map((runs) =>
    runs.map(({ levels }) => labelOf(levels)),
  );

  it('has every combination once in each block', () => {
    assert.deepEqual([...new Set(order.map(({ block }) => block))].length, 20);
    for (const block of blocks) {
      assert.deepEqual(block.toSorted(), blocks[0]?.toSorted());
      assert.equal(new Set(block).size, 6);
    }
  });

  it('lets what drifts over time fall on all alike: each second block turns round the one before it', () => {
    for (let index = 0; index < 20; index += 2) assert.deepEqual(blocks[index + 1], blocks[index]?.toReversed());
    assert.equal(new Set(blocks.map(([first]) => first)).size, 6);
    assert.ok(new Set(blocks.map((block) => block.join())).size > 15);
  });

  it('follows from the plan, and changes with the seed', () => {
    assert.deepEqual(orderOf(PLAN), order);
    assert.notDeepEqual(orderOf({ ...PLAN, seed: 2 }), order);
  });
});

describe('the runs of a plan', () => {
  const plan = { ...PLAN, vary: { RATE: [10, 20, 30], hold: [1] }, repeat: 2 };

  /** At 30/s, runs are refused as long as `refuses` says so. */
  function begin(t: TestContext, endsWithFailure: boolean) {
    const { folder, artillery, write } = fakeArtillery(
      t,
      `if (process.env.RATE === '30' && read('refuses.json')) process.exit(2); else leave();`,
    );
    write('refuses.json', true);
    const options: PlannedOptions = {
      kind: 'study',
      ...{ folder: `${folder}/rates`, name: 'rates', title: '', plan, scenarioHash: 'abc', endsWithFailure },
      commandOf: ({ RATE }: Levels) => ({ scenario: '1k.yml', args: [], overrides: {}, env: { RATE: `${RATE}` } }),
      reportOf: studyDocument,
    };
    const run = async () => {
      const { signal } = new AbortController();
      const { document, runs } = await runSeries(plannedSeries(options), { artillery, signal, say: () => {} });
      return { ...document, exitCode: exitCodeOf(runs) };
    };
    return { run, write };
  }

  it('are all made, and what is refused leaves a hole', async (t) => {
    const { run, write } = begin(t, false);
    const study = await run();
    assert.deepEqual(
      study.runs.map(({ block, exitCode, levels }) => [block, exitCode === 2, levels.RATE === 30]),
      orderOf(plan).map(({ block, levels }) => [block, levels.RATE === 30, levels.RATE === 30]),
    );
    const usable = () => study.combinations.map(({ levels, usable }) => [levels.RATE, usable]);
    assert.deepEqual(usable(), [
      [10, 2],
      [20, 2],
      [30, 0],
    ]);
    assert.equal(study.exitCode, 2);

    // The next start makes only these once more, and what they leave now is what counts.
    write('refuses.json', false);
    const resumed = await run();
    const later = resumed.runs.slice(6);
    assertEach(later, ({ number, levels, exitCode }) => [number, levels.RATE, exitCode], [
      [7, 30, 0],
      [8, 30, 0],
    ]);
    assertEach(resumed.combinations, ({ usable: count }) => count, [2, 2, 2]);
    assert.equal(resumed.exitCode, 0);
    assert.equal((await run()).runs.length, 8);
  });

  it('end with the first that is refused, where the series is no use without it', async (t) => {
    const { run } = begin(t, true);
    const { runs } = await run();
    assert.deepEqual(column(runs, 'exitCode'), [...Array(runs.length - 1).fill(0), 2]);
    assert.ok(runs.length <= 3);
  });
});

describe('runs that others disturbed', () => {
  const plan = { ...PLAN, vary: { RATE: [10, 20] }, repeat: 2 };

  /** @param body of the program in place of Artillery, which knows what `run` it is, from 1, and can `disturb` its result */
  async function begin(t: TestContext, body: string, isEnough?: PlannedOptions['isEnough']) {
    const { folder, artillery } = fakeArtillery(
      t,
      `const file = join(__dirname, 'count');
      const run = existsSync(file) ? Number(readFileSync(file)) + 1 : 1;
      writeFileSync(file, String(run));
      const disturb = (share) => (result) => {
        const known = { seconds: 10, cores: 2, busyCores: 2, errorCores: 0.01, pressurePercent: null, meanMhz: null };
        const none = { oursCores: 0, kernelCores: 0, unaccountedCores: 0, stealCores: 0, programs: [] };
        const window = { ...known, ...none, window: 'broadcasts', othersCores: 2 * share };
        const series = ['t', 'busyCores', 'oursCores', 'othersCores', 'stealCores', 'pressurePercent', 'meanMhz'];
        const overTime = Object.fromEntries(series.map((name) => [name, []]));
        result.machine = { ...result.machine, others: { windows: [window], overTime } };
        result.connections.failed = Math.round(100 * share);
      };
      ${body}`,
    );
    const options: PlannedOptions = {
      kind: 'repeat',
      ...{ folder: `${folder}/turns`, name: 'turns', title: '', plan, scenarioHash: 'abc', endsWithFailure: true },
      commandOf: () => ({ scenario: '1k.yml', args: [], overrides: {}, env: {} }),
      reportOf: studyDocument,
      ...(isEnough && { isEnough }),
    };
    const series = plannedSeries(options);
    const made = await runSeries(series, { artillery, signal: new AbortController().signal, say: () => {} });
    const { answer } = series.reportOf(made.document, made.runs);
    return { ...made, said: answer.lines.join('\n'), page: readFileSync(`${folder}/turns/repeat.html`, 'utf8') };
  }

  it('do not count, and are made again at once', async (t) => {
    const { document, said, page } = await begin(t, 'leave(run === 2 ? disturb(0.4) : undefined);');
    for (const text of [said, page]) assert.match(text, /Left out and made again: 1 run/);
    const [, second, third] = document.runs;
    assert.equal(document.runs.length, 5);
    assert.deepEqual([third?.block, third?.levels, third?.problem], [second?.block, second?.levels, null]);
    assert.match(second?.problem ?? '', /^repeated: other programs used 0.80 of 2 cores/);
    assert.ok(document.combinations.every(({ usable }) => usable === 2));
    const counted = document.combinations.map(({ figures }) => figures['connections.failed']?.max);
    assert.deepEqual(counted, [0, 0], 'what was counted while others worked is left out');
  });

  it('are made twice at most, and the one that was disturbed least counts', async (t) => {
    const { document, runs, said } = await begin(
      t,
      'leave(disturb(run % 2 === 1 ? 0.3 : 0.6)); process.exitCode = run % 2 === 1 ? 3 : 4;',
    );
    assert.match(said, /Left out and made again: 4 runs/);
    assert.equal(exitCodeOf(runs), 3, 'of the runs whose figures count');
    assert.equal(document.runs.length, 8);
    assertEach(document.runs, ({ problem }) => problem === null, [true, false, true, false, true, false, true, false]);
    assertEach(document.combinations, ({ usable, figures }) => [usable, figures['connections.failed']?.max], [
      [2, 30],
      [2, 30],
    ]);
  });

  it('count where nothing comes of making them again, which ends nothing', async (t) => {
    const { document, runs, said } = await begin(
      t,
      'if (run === 2) process.exit(2); leave(run === 1 ? disturb(0.4) : undefined);',
    );
    assert.equal(document.runs.length, 5);
    assert.ok(document.combinations.every(({ usable }) => usable === 2));
    assert.equal(exitCodeOf(runs), 0);
    assert.doesNotMatch(said, /Left out/);
  });

  it('end with the first whole block that is enough', async (t) => {
    const asked: number[] = [];
    const { document } = await begin(t, 'leave();', (runs) => asked.push(runs.length) > 0);
    assert.deepEqual(asked, [2]);
    assert.equal(document.runs.length, 2);
  });
});
