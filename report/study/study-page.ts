/** Report of a study: the effect of each varied setting. If nothing was varied, it shows the spread between runs. */
import { countLostRuns, runEndingOf } from '../../protocol/documents/series-schema.ts';
import type { Study } from '../../protocol/documents/study-schema.ts';
import { studyChangeChart } from '../charts/study-chart.ts';
import { type ConditionMismatch, findMismatches } from '../compare/comparability.ts';
import { type Comparison, comparedSetOf, DEFAULT_MARGIN, type RunSet } from '../compare/compare.ts';
import { detectableText } from '../compare/detectable.ts';
import { comparedTable, comparisonHeadline, describeSet, MISMATCH_TEXTS, tableNotes } from '../compare/text.ts';
import { COMPARABLE_FIGURES, titleOfFigure } from '../figures/figures.ts';
import { amount } from '../model/amount.ts';
import {
  chartBlock,
  figuresTable,
  linesBlock,
  type ReportDocument,
  type ReportSection,
  type TableCell,
} from '../model/document.ts';
import { countText } from '../text/format.ts';
import { levelName, studyAnswers } from './study-answers.ts';
import { combinationLabel, type StudyQuestion, type StudyRun, studyQuestions } from './summarize.ts';

const POOLED =
  'The noise of a combination with fewer than four runs is that of its noisiest level: how much runs of the same combination differ there, in percent of their mean, or its own where that is larger.';

/**
 * Builds the report.
 * @param runs runs in the order of `study.runs`
 */
export function studyDocument(study: Study, runs: StudyRun[]): ReportDocument {
  const questions = studyQuestions(study.plan, runs);
  const missing = missingRuns(study);
  return {
    title: study.title || `Study ${study.name}`,
    subtitle: study.plan.scenario,
    answer: {
      tone: missing.length > 0 ? 'doubt' : 'plain',
      title: progressText(study),
      lines:
        questions.length > 0
          ? [...questions.flatMap(studyAnswers), ...detectableLines(questions)]
          : [describeSet(comparedSetOf(runsOf(study, runs)))],
      findings: [],
      causes: [],
      lead: 'lines',
    },
    sections: [
      ...listed('missing', 'Missing', missing),
      ...listed('doubts', 'Doubts', comparisonDoubts(runs, questions)),
      ...questions.filter(({ contexts }) => contexts.length > 0).map(questionSection),
      questions.length > 0 ? readingSection(questions) : spreadSection(study),
      runsSection(study, runs),
    ],
  };
}

/** Returns a text about the progress, such as `8 of 12 runs are done` or `8 of at most 40 runs are done`. */
function progressText({ runs, planned, plan }: Study): string {
  const ended = runs.filter(({ exitCode }) => runEndingOf(exitCode) !== 'stopped');
  const done = new Set(ended.map(({ block, levels }) => `${block} ${combinationLabel(levels)}`)).size;
  // The planned number of runs can be below the number already made, if a later command asks for fewer repetitions.
  const all = Math.max(planned, done);
  const most = plan.detect === undefined ? '' : 'at most ';
  return `${done} of ${most}${countText(all, 'run')} ${all === 1 ? 'is' : 'are'} done`;
}

/** Returns a text such as `12 worse, 1 better`. The table lists the figures. */
function changesOf(comparison: Comparison, index: number): string {
  const counts = (['worse', 'better'] as const).map((answer) => ({
    answer,
    count: comparison.figures.filter(({ differences }) => differences[index - 1]?.answer === answer).length,
  }));
  const changed = counts.filter(({ count }) => count > 0).map(({ answer, count }) => `${count} ${answer}`);
  return changed.join(', ') || comparisonHeadline(comparison, index).text;
}

function questionSection(question: StudyQuestion, position: number): ReportSection {
  const tables = question.contexts.flatMap((context) =>
    context.levels.slice(1).map((level, index) => {
      const { comparison, levels, others } = context;
      const withOthers = Object.keys(others).length > 0 ? `, with ${combinationLabel(others)}` : '';
      const title = `${level} against ${levels[0]}${withOthers}: ${changesOf(comparison, index + 1)}`;
      return comparedTable(title, comparison.figures, index + 1, [String(levels[0]), String(level)], true);
    }),
  );
  return {
    id: `question-${position + 1}`,
    title: `What does ${question.name} change?`,
    blocks: [chartBlock(studyChangeChart(question), ''), ...tables],
  };
}

/**
 * Returns lines about the smallest detectable changes, for a study with one varied setting. A study with several
 * settings has tables instead.
 */
function detectableLines(questions: StudyQuestion[]): string[] {
  const [{ name, contexts: [context, ...others] = [] } = { name: '' }] = questions;
  if (!context || questions.length + others.length > 1) return [];
  return context.levels.slice(1).flatMap((level, index) => {
    const text = detectableText(context.comparison, index + 1);
    return text === undefined
      ? []
      : [`${levelName(name, level)} against ${levelName(name, context.levels[0])} ${text}`];
  });
}

function runsOf({ plan }: Study, runs: StudyRun[]): RunSet {
  const lost = countLostRuns(runs.map(({ exitCode = 0 }) => exitCode));
  return { name: plan.scenario, results: runs.flatMap(({ result }) => result ?? []), lost };
}

/** Returns the section on the spread between runs, for a study without varied settings. */
function spreadSection({ combinations }: Study): ReportSection {
  const { figures = {}, usable = 0 } = combinations[0] ?? {};
  const rows = COMPARABLE_FIGURES.flatMap((figure): TableCell[][] => {
    const spread = figures[figure.path];
    if (!spread) return [];
    const { quantity } = figure;
    const { mean, deviation, min, max, low95, high95 } = spread;
    const interval = low95 === null || high95 === null || spread.runs < 3 ? null : { low95, high95 };
    const others = [deviation, min, max].map((value) => amount(quantity, value));
    return [[titleOfFigure(figure), amount(quantity, mean, interval), ...others]];
  });
  const margin =
    usable < 3
      ? 'It takes three usable runs or more to know an interval of the mean.'
      : '± is half of Student’s 95 % interval of the mean.';
  return {
    id: 'spread',
    title: 'From run to run',
    blocks: [
      figuresTable('From run to run', ['Figure', 'Mean', 'Deviation', 'Min', 'Max'], rows),
      linesBlock('note', [`Deviation is the standard deviation between runs. ${margin}`]),
    ],
  };
}

/** Returns the section that explains the tables, which is printed once below them. */
function readingSection(questions: StudyQuestion[]): ReportSection {
  const comparisons = questions.flatMap(({ contexts }) => contexts).map(({ comparison }) => comparison);
  const figures = comparisons.flatMap((comparison) => comparison.figures);
  const margin = comparisons[0]?.margin ?? DEFAULT_MARGIN;
  const pooled = figures.some(({ differences }) => differences.some(({ noise }) => noise === 'study'));
  return {
    id: 'reading',
    title: 'How to read the tables',
    blocks: [linesBlock('note', [...tableNotes({ figures, margin }), pooled && POOLED])],
  };
}

function runsSection(study: Study, measured: StudyRun[]): ReportSection {
  const rows = study.runs.map(({ number, block, levels, status, seconds, problem, result }) => [
    String(number),
    String(block),
    combinationLabel(levels),
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
    blocks: [linesBlock('text', [placeOf(measured)]), figuresTable('Runs', head, rows)],
  };
}

/** Returns a text about the machines and versions; null before the first run. */
function placeOf(runs: StudyRun[]): string | null {
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

function listed(id: string, title: string, all: string[]): ReportSection[] {
  return all.length === 0 ? [] : [{ id, title, blocks: [linesBlock('list', all)] }];
}

/** Returns a line for each combination of levels for which runs are missing, with the reasons. */
export function missingRuns({ combinations, runs, plan }: Study): string[] {
  // The option `detect` lets the study decide the number of rounds itself.
  const rounds = plan.detect === undefined ? plan.repeat : Math.max(1, ...runs.map(({ block }) => block));
  return combinations
    .filter(({ usable }) => usable < rounds)
    .map(({ levels, usable }) => {
      const label = combinationLabel(levels);
      const own = runs.filter((run) => combinationLabel(run.levels) === label);
      const missing = rounds - new Set(own.map(({ block }) => block)).size;
      const reasons = [
        ...own.flatMap(({ number, problem }) => (problem === null ? [] : [`run ${number}: ${problem}`])),
        ...(missing > 0 ? [`${countText(missing, 'run')} not made yet`] : []),
      ];
      return `${label || plan.scenario}: figures from ${usable} of ${countText(rounds, 'run')}; ${reasons.join('; ')}`;
    });
}

/**
 * Returns reasons to distrust the comparison: other conditions that changed, or levels without any recorded difference.
 */
export function comparisonDoubts(runs: StudyRun[], questions: StudyQuestion[]): string[] {
  const ofMachine = differing(runs).filter(({ aspect }) => aspect === 'machine' || aspect === 'system');
  const withinLevels = [...Map.groupBy(runs, ({ levels }) => combinationLabel(levels)).values()].flatMap(differing);
  const changed = [...ofMachine, ...withinLevels].map(
    ({ aspect, name, values }) => `${MISMATCH_TEXTS[aspect]}: ${name}: ${[...new Set(values)].sort().join(', ')}`,
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

/** Returns the conditions, such as versions or machines, that differ between runs. */
function differing(runs: StudyRun[]): ConditionMismatch[] {
  return findMismatches(runs.flatMap(({ result }) => (result ? [[result]] : [])));
}
