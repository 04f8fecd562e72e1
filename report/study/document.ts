/** A study as a report: for each name that varies, what its levels change. */
import { endingOf } from '../../protocol/documents/series.ts';
import type { Study } from '../../protocol/documents/study.ts';
import { changeOf } from '../charts/study.ts';
import { type Mismatch, mismatches } from '../compare/comparability.ts';
import { type Comparison, MARGIN } from '../compare/compare.ts';
import { ASPECTS, comparedTable, headlineOf, notes } from '../compare/text.ts';
import { type Document, drawing, grid, lines, type Section } from '../model/document.ts';
import { counted } from '../text/format.ts';
import { answersOf } from './answers.ts';
import { labelOf, type MeasuredRun, type Question, questionsOf } from './summarize.ts';

const POOLED =
  'The noise of a combination with fewer than four runs is that of its noisiest level: how much runs of the same combination differ there, in percent of their mean, or its own where that is larger.';

/** @param runs in the order of `study.runs` */
export function studyDocument(study: Study, runs: MeasuredRun[]): Document {
  const questions = questionsOf(study.plan, runs);
  const holes = holesOf(study);
  return {
    title: study.title || `Study ${study.name}`,
    subtitle: study.plan.scenario,
    answer: {
      tone: holes.length > 0 ? 'doubt' : 'plain',
      title: progressText(study),
      lines: questions.flatMap(answersOf),
      findings: [],
      causes: [],
    },
    sections: [
      ...listed('missing', 'Missing', holes),
      ...listed('doubts', 'Doubts', doubtsOf(runs, questions)),
      ...questions.filter(({ contexts }) => contexts.length > 0).map(questionSection),
      reading(questions),
      runsSection(study, runs),
    ],
  };
}

/** @returns `8 of 12 runs are done` */
function progressText({ runs, planned }: Study): string {
  const ended = runs.filter(({ exitCode }) => endingOf(exitCode) !== 'stopped');
  const done = new Set(ended.map(({ block, levels }) => `${block} ${labelOf(levels)}`)).size;
  return `${done} of ${counted(planned, 'run')} ${planned === 1 ? 'is' : 'are'} done`;
}

/** @returns `12 worse, 1 better`: the table has their names */
function changesOf(comparison: Comparison, index: number): string {
  const counts = (['worse', 'better'] as const).map((answer) => ({
    answer,
    count: comparison.figures.filter(({ differences }) => differences[index - 1]?.answer === answer).length,
  }));
  const changed = counts.filter(({ count }) => count > 0).map(({ answer, count }) => `${count} ${answer}`);
  return changed.join(', ') || headlineOf(comparison, index).text;
}

function questionSection(question: Question, position: number): Section {
  const tables = question.contexts.flatMap((context) =>
    context.levels.slice(1).map((level, index) => {
      const { comparison, levels, others } = context;
      const withOthers = Object.keys(others).length > 0 ? `, with ${labelOf(others)}` : '';
      const title = `${level} against ${levels[0]}${withOthers}: ${changesOf(comparison, index + 1)}`;
      return comparedTable(title, comparison.figures, index + 1, [String(levels[0]), String(level)], true);
    }),
  );
  return {
    id: `question-${position + 1}`,
    title: `What does ${question.name} change?`,
    blocks: [drawing(changeOf(question), ''), ...tables],
  };
}

/** Once, below all tables. */
function reading(questions: Question[]): Section {
  const comparisons = questions.flatMap(({ contexts }) => contexts).map(({ comparison }) => comparison);
  const figures = comparisons.flatMap((comparison) => comparison.figures);
  const margin = comparisons[0]?.margin ?? MARGIN;
  const pooled = figures.some(({ differences }) => differences.some(({ noise }) => noise === 'study'));
  return {
    id: 'reading',
    title: 'How to read the tables',
    blocks: [lines('note', [...notes({ figures, margin }), pooled && POOLED])],
  };
}

function runsSection(study: Study, measured: MeasuredRun[]): Section {
  const rows = study.runs.map(({ number, block, levels, status, seconds, problem, result }) => [
    String(number),
    String(block),
    labelOf(levels),
    status ?? '–',
    String(Math.round(seconds)),
    problem ?? '',
    result ?? '',
  ]);
  const head = ['Run', 'Block', 'Levels', 'Verdict', 'Seconds', 'Problem', 'Result'];
  return {
    id: 'runs',
    title: 'Runs',
    lead: 'In the order they ran. Each block has every combination once.',
    folded: true,
    appendix: true,
    blocks: [lines('text', [placeOf(measured)]), grid('Runs', head, rows)],
  };
}

/** @returns the machines, and what ran on them; null before the first run */
function placeOf(runs: MeasuredRun[]): string | null {
  const results = runs.flatMap(({ result }) => result ?? []);
  const all = [
    ...new Set(
      results.flatMap(({ answer, environment }) => [
        answer.machine,
        ...Object.entries(environment.versions).map(([name, version]) => `${name} ${version}`),
      ]),
    ),
  ];
  return all.length === 0 ? null : `Measured on: ${all.join('; ')}.`;
}

function listed(id: string, title: string, all: string[]): Section[] {
  return all.length === 0 ? [] : [{ id, title, blocks: [lines('list', all)] }];
}

/** @returns one line for each combination that lacks runs, with the reasons */
export function holesOf({ combinations, runs, plan }: Study): string[] {
  return combinations
    .filter(({ usable }) => usable < plan.repeat)
    .map(({ levels, usable }) => {
      const label = labelOf(levels);
      const own = runs.filter((run) => labelOf(run.levels) === label);
      const missing = plan.repeat - new Set(own.map(({ block }) => block)).size;
      const reasons = [
        ...own.flatMap(({ number, problem }) => (problem === null ? [] : [`run ${number}: ${problem}`])),
        ...(missing > 0 ? [`${counted(missing, 'run')} not made yet`] : []),
      ];
      return `${label}: figures from ${usable} of ${counted(plan.repeat, 'run')}; ${reasons.join('; ')}`;
    });
}

/**
 * What casts doubt on the comparison: conditions that changed on the way, although no level sets them, or levels that
 * changed nothing.
 */
export function doubtsOf(runs: MeasuredRun[], questions: Question[]): string[] {
  const ofMachine = differing(runs).filter(({ aspect }) => aspect === 'machine' || aspect === 'system');
  const withinLevels = [...Map.groupBy(runs, ({ levels }) => labelOf(levels)).values()].flatMap(differing);
  const changed = [...ofMachine, ...withinLevels].map(
    ({ aspect, name, values }) => `${ASPECTS[aspect]}: ${name}: ${[...new Set(values)].sort().join(', ')}`,
  );
  const unseen = questions
    .filter(({ contexts }) =>
      contexts.every(
        ({ comparison: { sets, mismatches: found } }) =>
          sets.every(({ statuses }) => statuses.length > 0) && found.length === 0,
      ),
    )
    .map(
      ({ name }) => `${name}: the results record no difference between its levels. Does the scenario’s server read it?`,
    );
  return [...new Set(changed), ...unseen];
}

/** @returns the conditions in which some runs differ from others */
function differing(runs: MeasuredRun[]): Mismatch[] {
  return mismatches(runs.flatMap(({ result }) => (result ? [[result]] : [])));
}
