import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Study, type StudyLevel, type StudyPlan, studySchema } from '../../../protocol/documents/study-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { studyChangeChart } from '../../../report/charts/study-chart.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { comparisonDoubts, missingRuns, studyDocument } from '../../../report/study/study-page.ts';
import { type StudyRun, studyQuestions, summarizeStudy } from '../../../report/study/summarize.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { assertGolden } from '../../helpers/golden.ts';
import { perfectResult } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const PLAN: StudyPlan = {
  scenario: '<b>1k</b>.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2] },
  servers: {},
  except: [],
  repeat: 3,
  seed: 1,
};
const TLS = { off: 15_000, on: 18_000 };
const SLOPE = 'memory.perConnectionBytes.workerPss.slope';

const pageOf = (study: Study, runs: StudyRun[]) => renderHtml(studyDocument(study, runs));
const markdownOf = (study: Study, runs: StudyRun[]) => renderMarkdown(studyDocument(study, runs));
const answersOf = (study: Study, runs: StudyRun[]) => studyDocument(study, runs).answer.lines;

function resultOf(tls: keyof typeof TLS, workers: number, noise: number): Result {
  const result = perfectResult();
  Object.assign(result.memory.perConnectionBytes.workerPss as object, { slope: TLS[tls] + noise });
  result.environment.settings = { ...result.environment.settings, workers };
  return result;
}

/** Returns one run of each combination for each noise. */
function runsOf(...noises: number[]): { levels: Record<string, StudyLevel>; result: Result }[] {
  const combinations = (['off', 'on'] as const).flatMap((tls) => [1, 2].map((workers) => ({ tls, workers })));
  return combinations.flatMap(({ tls, workers }) =>
    noises.map((noise) => ({ levels: { TLS: tls, workers }, result: resultOf(tls, workers, noise) })),
  );
}

/**
 * Returns a study of twelve runs. For `on` with two workers, one run was refused, one is INVALID, and one was never
 * made.
 */
function studyWithHoles(): { study: Study; runs: StudyRun[] } {
  const runs: StudyRun[] = runsOf(-20, 0, 20).slice(0, 11);
  runs[9] = { levels: { TLS: 'on', workers: 2 }, result: undefined };
  Object.assign(runs[10]?.result?.verdict ?? {}, { status: 'INVALID' });
  const { study } = measuredStudy('tls', PLAN, runs);
  Object.assign(study, { title: 'What does <TLS> cost?', planned: 12 });
  Object.assign(study.runs[10] ?? {}, { status: 'INVALID', problem: 'INVALID: DUPLICATES' });
  return { study, runs };
}

describe('a study with holes', () => {
  const { study, runs } = studyWithHoles();

  it('a study with missing runs is printed as Markdown with answers, tables, and the combinations that lack runs', (t) => {
    assertGolden(t, 'study.md', markdownOf(study, runs));
    const stopped = study.runs.map((run, index) => (index === 10 ? { ...run, exitCode: 130 } : run));
    assert.match(markdownOf({ ...study, runs: stopped }, runs), /10 of 12 runs are done/);
  });

  it('a study takes the noise of few runs from all combinations with the same level', () => {
    const { differences } = summarizeStudy(PLAN, runsOf(-100, 0, 100));
    assertEach(differences, ({ name, figures: { [SLOPE]: slope } }) => `${name}: ${slope?.answer} by ${slope?.noise}`, [
      ...['TLS: worse by study', 'TLS: worse by study'],
      ...['workers: no-difference by study', 'workers: no-difference by study'],
    ]);
  });

  it('a study has a document that its schema accepts', () => {
    assert.deepEqual(studySchema.parse(JSON.parse(JSON.stringify(study))), study);
    assert.throws(() => studySchema.parse({ ...study, unknown: 1 }));
  });

  it('a study reports settings whose levels are not visible in the results, and conditions that changed', () => {
    assert.deepEqual(comparisonDoubts(runs.slice(0, 9), studyQuestions(PLAN, runs.slice(0, 9))), []);
    const whole = studyWithHoles().runs.map((run, index) => ({
      ...run,
      result: run.result ?? resultOf('on', 2, index),
    }));
    assert.match(comparisonDoubts(whole, studyQuestions(PLAN, whole)).join(), /^TLS: /);
    const { environment, connections } = whole[3]?.result ?? perfectResult();
    environment.cpuCount = 64;
    connections.target = 4000;
    const [machine, load] = comparisonDoubts(whole, studyQuestions(PLAN, whole));
    assert.deepEqual([machine, load], ['different machine: cores: 2, 64', 'different load: connections: 4000, 5000']);
  });

  it('the page of a study shows the differences, and escapes outside text', () => {
    const page = pageOf(study, runs);
    assert.match(page, /id="question-1"[\s\S]*: 1 worse[\s\S]*id="question-2"/);
    assert.match(page, /class="worse"[\s\S]*WORSE/);
    assert.match(page, /NOT_INSTALLED/);
    assert.equal(page.match(/<b>1k/), null);
    assert.doesNotMatch(page, /NaN|undefined/);
  });
});

it('the report of a study names the level that lacks a figure', () => {
  const runs = runsOf(-20, 0, 20);
  for (const { levels, result } of runs) {
    if (levels.TLS === 'off') Object.assign(result.memory.perConnection ?? {}, { isAtLeast: true });
  }
  const { study } = measuredStudy('tls', PLAN, runs);
  const [answer] = answersOf(study, runs);
  assert.match(answer ?? '', /^TLS=on instead of off: .*unknown for TLS=off: Memory per connection/);
});

it('the report of a study omits levels that cannot be combined, also as the reference of a difference', () => {
  const vary = { adapter: ['none', 'redis', 'streams'], workers: [1, 2] };
  const none = { ...PLAN, vary, except: [{ adapter: 'none', workers: 2 }] };
  const questions = answersOf({ ...studyWithHoles().study, plan: none }, []).map((answer) => answer.split(':')[0]);
  const expected = ['redis instead of none', 'streams instead of none or redis', 'workers=2 instead of 1'];
  assert.deepEqual(questions, expected);
  const plan: StudyPlan = { ...PLAN, except: [{ TLS: 'off', workers: 2 }] };
  const { study, runs } = studyWithHoles();
  const without = { ...study, plan, ...summarizeStudy(plan, runs) };
  assert.deepEqual(column(without.combinations, 'usable'), [3, 3, 0]);
  assert.match(pageOf(without, runs), /Table: on against off, with workers=1/);
  assert.doesNotMatch(pageOf(without, runs), /against off, with workers=2/);
});

it('renders a study before its first run', () => {
  const { study } = studyWithHoles();
  const empty = { ...study, runs: [], ...summarizeStudy(PLAN, []) };
  assert.equal(missingRuns(empty).length, 4);
  for (const text of [pageOf(empty, []), markdownOf(empty, [])]) assert.doesNotMatch(text, /NaN|undefined/);
});

it('the report of a study shows the figure that a level changes most, as a multiple', () => {
  const { study, runs } = measuredStudy('tls', PLAN, runsOf(-20, 0, 20));
  const [tls, workers] = studyQuestions(PLAN, runs).map(studyChangeChart);
  assert.match(tls?.title ?? '', /Workers PSS per connection.*TLS=off/);
  assert.deepEqual(tls?.readout?.labels, ['1', '2']);
  assert.deepEqual(column(tls?.readout?.series ?? [], 'values'), [[1.2, 1.2]]);
  assert.equal(workers, null);
  assert.match(pageOf(study, runs), /<figcaption>Workers PSS per connection/);
});

it('a study shows the spread of each figure between equal settings, with an interval from three runs', (t) => {
  const texts = [
    [0, 512],
    [0, 512, 256],
  ].map((noises) => {
    const runs = noises.map((noise) => ({ levels: {}, result: resultOf('off', 1, noise) }));
    const { study } = measuredStudy('1k', { scenario: '1k.yml', vary: {}, repeat: noises.length }, runs);
    return markdownOf(study, runs);
  });
  assertGolden(t, 'repeats.md', texts.join('\n'));
});
