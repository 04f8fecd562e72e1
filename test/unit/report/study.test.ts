import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Level, type Plan, type Study, studySchema } from '../../../protocol/documents/study.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { doubtsOf, holesOf, studyDocument } from '../../../report/study/document.ts';
import { type MeasuredRun, questionsOf, summarize } from '../../../report/study/summarize.ts';
import { column } from '../../helpers/columns.ts';
import { perfectResult } from '../../helpers/results.ts';

const PLAN: Plan = {
  scenario: '<b>1k</b>.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2] },
  servers: {},
  except: [],
  repeat: 3,
  seed: 1,
};
const TLS = { off: 15_000, on: 18_000 };

const pageOf = (study: Study, runs: MeasuredRun[]) => renderHtml(studyDocument(study, runs));
const markdownOf = (study: Study, runs: MeasuredRun[]) => renderMarkdown(studyDocument(study, runs));
const answersOf = (study: Study, runs: MeasuredRun[]) => studyDocument(study, runs).answer.lines;

function resultOf(tls: 'off' | 'on', workers: number, noise: number): Result {
  const result = perfectResult();
  const line = result.memory.perConnectionBytes.workerPss;
  assert.ok(line);
  line.slope = TLS[tls] + noise;
  result.environment.settings = { ...result.environment.settings, workers };
  return result;
}

/** Of twelve runs, those of `on` with two workers were refused, INVALID, and not made. */
function studyWithHoles(): { study: Study; runs: MeasuredRun[] } {
  const given = (['off', 'on'] as const).flatMap((tls) =>
    [1, 2].flatMap((workers) =>
      [-20, 0, 20].map((noise) => ({ levels: { TLS: tls as Level, workers }, result: resultOf(tls, workers, noise) })),
    ),
  );
  const runs: MeasuredRun[] = given.slice(0, 11);
  runs[9] = { levels: { TLS: 'on', workers: 2 }, result: undefined };
  const last = runs[10]?.result;
  assert.ok(last);
  last.verdict.status = 'INVALID';
  const study: Study = {
    schemaVersion: 2,
    name: 'tls',
    title: 'What does <TLS> cost?',
    plan: PLAN,
    scenarioHash: 'abc',
    startedAt: '2026-01-02T03:04:05.000Z',
    planned: 12,
    runs: runs.map(({ levels, result }, index) => ({
      number: index + 1,
      block: (index % 3) + 1,
      levels,
      startedAt: '2026-01-02T03:04:05.000Z',
      exitCode: result ? 0 : 2,
      seconds: 60,
      result: result ? 'runs/a/result.json' : null,
      status: result?.verdict.status ?? null,
      problem: result
        ? result.verdict.status === 'INVALID'
          ? 'INVALID: DUPLICATES'
          : null
        : 'NOT_INSTALLED: no nginx (exit code 2)',
    })),
    ...summarize(PLAN, runs),
  };
  return { study, runs };
}

describe('a study with holes', () => {
  const { study, runs } = studyWithHoles();

  it('names each combination that lacks runs, and why', () => {
    assert.deepEqual(holesOf(study), [
      'TLS=on, workers=2: figures from 0 of 3 runs; run 10: NOT_INSTALLED: no nginx (exit code 2); run 11: INVALID: DUPLICATES; 1 run not made yet',
    ]);
    assert.deepEqual(column(study.combinations, 'usable'), [3, 3, 3, 0]);
  });

  it('answers what the other runs show, over the settings of the other names', () => {
    assert.deepEqual(answersOf(study, runs), [
      'TLS=on instead of off: Workers PSS per connection +20 % (1 of 2 settings); inconclusive: no usable measurement (INVALID)',
      'workers=2 instead of 1: inconclusive: no usable measurement (INVALID)',
    ]);
    const found = study.differences.find(({ name, others }) => name === 'TLS' && others.workers === 1);
    assert.deepEqual([found?.reference, found?.level], ['off', 'on']);
    const slope = found?.figures['memory.perConnectionBytes.workerPss.slope'];
    assert.deepEqual([slope?.answer, slope?.value], ['worse', 3000]);
  });

  it('knows the noise of two runs by that of all combinations', () => {
    const two = ['off', 'on'].flatMap((tls) =>
      [1, 2].flatMap((workers) =>
        [-100, 100].map((noise) => ({
          levels: { TLS: tls as Level, workers },
          result: resultOf(tls as 'off' | 'on', workers, noise),
        })),
      ),
    );
    const path = 'memory.perConnectionBytes.workerPss.slope';
    const slopes = summarize({ ...PLAN, repeat: 2 }, two).differences.map(({ name, figures }) => [
      name,
      figures[path]?.answer,
      figures[path]?.noise,
    ]);
    assert.deepEqual(slopes, [
      ...[1, 2].map(() => ['TLS', 'worse', 'study']),
      ...[1, 2].map(() => ['workers', 'no-difference', 'study']),
    ]);
  });

  it('has a document that its schema accepts', () => {
    assert.deepEqual(studySchema.parse(JSON.parse(JSON.stringify(study))), study);
    assert.throws(() => studySchema.parse({ ...study, unknown: 1 }));
  });

  it('doubts a name whose levels leave no trace in the results, and conditions that changed', () => {
    // TLS is invisible in these results; the workers are in their settings.
    assert.deepEqual(doubtsOf(runs.slice(0, 9), questionsOf(PLAN, runs.slice(0, 9))), []);
    const whole = studyWithHoles().runs.map((run, index) => ({
      ...run,
      result: run.result ?? resultOf('on', 2, index),
    }));
    assert.match(doubtsOf(whole, questionsOf(PLAN, whole)).join(), /^TLS: the results record no difference/);
    const other = whole[3]?.result;
    assert.ok(other);
    other.environment.cpuCount = 64;
    other.connections.target = 4000;
    const doubts = doubtsOf(whole, questionsOf(PLAN, whole));
    assert.deepEqual(doubts.slice(0, 2), [
      'different machine: cores: 2, 64',
      'different load: connections: 4000, 5000',
    ]);
  });

  it('is a page with what differs, and no outside text becomes markup', () => {
    const page = pageOf(study, runs);
    assert.match(page, /id="question-1"[\s\S]*: 1 worse[\s\S]*id="question-2"/);
    assert.match(page, /class="worse"[\s\S]*WORSE/);
    assert.match(page, /NOT_INSTALLED/);
    assert.equal(page.match(/<b>1k/), null);
    assert.doesNotMatch(page, /NaN|undefined/);
  });

  it('is a Markdown text with the same answers', () => {
    const text = markdownOf(study, runs);
    assert.match(text, /^# What does &lt;TLS&gt; cost\?\n/);
    assert.match(text, /11 of 12 runs are done/);
    assert.match(text, /\*\*on against off, with workers=1: 1 worse\*\*/);
    assert.match(text, /\| Workers PSS per connection, KB \| 14\.6 \| 17\.6 \| ▼ WORSE \| \+20 ± [\d.]+ % \|/);
    assert.doesNotMatch(text, /NaN|undefined/);
  });
});

it('levels that do not go together are left out, also as a reference', () => {
  const vary = { adapter: ['none', 'redis', 'streams'], workers: [1, 2] };
  const none = { ...PLAN, vary, except: [{ adapter: 'none', workers: 2 }] };
  assert.deepEqual(answersOf({ ...studyWithHoles().study, plan: none }, []), [
    'redis instead of none: inconclusive: no runs of one side yet',
    'streams instead of none or redis: inconclusive: no runs of one side yet',
    'workers=2 instead of 1: inconclusive: no runs of one side yet',
  ]);
  const plan: Plan = { ...PLAN, except: [{ TLS: 'off', workers: 2 }] };
  const { study, runs } = studyWithHoles();
  const without = { ...study, plan, ...summarize(plan, runs) };
  assert.deepEqual(column(without.combinations, 'usable'), [3, 3, 0]);
  assert.match(pageOf(without, runs), /Table: on against off, with workers=1/);
  assert.doesNotMatch(pageOf(without, runs), /against off, with workers=2/);
});

it('a study before its first run', () => {
  const { study } = studyWithHoles();
  const empty = { ...study, runs: [], ...summarize(PLAN, []) };
  assert.equal(holesOf(empty).length, 4);
  for (const text of [pageOf(empty, []), markdownOf(empty, [])]) assert.doesNotMatch(text, /NaN|undefined/);
});
