/** Report of a study: the effect of each varied setting. If nothing was varied, it shows the spread between runs. */
import { endingOf, lostAmong } from '../../protocol/documents/series-schema.ts';
import type { Study } from '../../protocol/documents/study-schema.ts';
import { changeOf } from '../charts/study-chart.ts';
import { type Mismatch, mismatches } from '../compare/comparability.ts';
import { asCompared, type Comparison, MARGIN, type RunSet } from '../compare/compare.ts';
import { detectableText } from '../compare/detectable.ts';
import { ASPECTS, comparedTable, describeSet, headlineOf, notes } from '../compare/text.ts';
import { FIGURES, titleOf } from '../figures/figures.ts';
import { amount } from '../model/amount.ts';
import { type Cell, type Document, drawing, grid, lines, type Section } from '../model/document.ts';
import { counted } from '../text/format.ts';
import { answersOf, levelName } from './study-answers.ts';
import { labelOf, type MeasuredRun, type Question, questionsOf } from './summarize.ts';

const POOLED =
  'The noise of a combination with fewer than four runs is that of its noisiest level: how much runs of the same combination differ there, in percent of their mean, or its own where that is larger.';

/** @param runs in the order of `study.runs` */
export function studyDocument(study: Study, runs: MeasuredRun[]): Document {
  const questions = questionsOf(study.plan, runs);
  const missing = missingRuns(study);
  return {
    title: study.title || `Study ${study.name}`,
    subtitle: study.plan.scenario,
    answer: {
      tone: missing.length > 0 ? 'doubt' : 'plain',
      title: progressText(study),
      lines:
        questions.length > 0
          ? [...questions.flatMap(answersOf), ...detectableLines(questions)]
          : [describeSet(asCompared(runsOf(study, runs)))],
      findings: [],
      causes: [],
      lead: 'lines',
    },
    sections: [
      ...listed('missing', 'Missing', missing),
      ...listed('doubts', 'Doubts', doubtsOf(runs, questions)),
      ...questions.filter(({ contexts }) => contexts.length > 0).map(questionSection),
      questions.length > 0 ? readingSection(questions) : spreadSection(study),
      runsSection(study, runs),
    ],
  };
}

/** Returns, for example, `8 of 12 runs are done` or `8 of at most 40 runs are done`. */
function progressText({ runs, planned, plan }: Study): string {
  const ended = runs.filter(({ exitCode }) => endingOf(exitCode) !== 'stopped');
  const done = new Set(ended.map(({ block, levels }) => `${block} ${labelOf(levels)}`)).size;
  // The number of rounds can be lower than the rounds already made, if a later command asks for fewer.
  const all = Math.max(planned, done);
  const most = plan.detect === undefined ? '' : 'at most ';
  return `${done} of ${most}${counted(all, 'run')} ${all === 1 ? 'is' : 'are'} done`;
}

/** Returns `12 worse, 1 better`. The table lists the figures. */
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

/** Returns lines for a study with one varied setting. A study with several settings has tables instead. */
function detectableLines(questions: Question[]): string[] {
  const [{ name, contexts: [context, ...others] = [] } = { name: '' }] = questions;
  if (!context || questions.length + others.length > 1) return [];
  return context.levels.slice(1).flatMap((level, index) => {
    const text = detectableText(context.comparison, index + 1);
    return text === undefined
      ? []
      : [`${levelName(name, level)} against ${levelName(name, context.levels[0])} ${text}`];
  });
}

function runsOf({ plan }: Study, runs: MeasuredRun[]): RunSet {
  const lost = lostAmong(runs.map(({ exitCode = 0 }) => exitCode));
  return { name: plan.scenario, results: runs.flatMap(({ result }) => result ?? []), lost };
}

/** Section on the spread between runs of a single combination. */
function spreadSection({ combinations }: Study): Section {
  const { figures = {}, usable = 0 } = combinations[0] ?? {};
  const rows = FIGURES.flatMap((figure): Cell[][] => {
    const spread = figures[figure.path];
    if (!spread) return [];
    const { quantity } = figure;
    const { mean, deviation, min, max, low95, high95 } = spread;
    const interval = low95 === null || high95 === null || spread.runs < 3 ? null : { low95, high95 };
    const others = [deviation, min, max].map((value) => amount(quantity, value));
    return [[titleOf(figure), amount(quantity, mean, interval), ...others]];
  });
  const margin =
    usable < 3
      ? 'It takes three usable runs or more to know an interval of the mean.'
      : '± is half of Student’s 95 % interval of the mean.';
  return {
    id: 'spread',
    title: 'From run to run',
    blocks: [
      grid('From run to run', ['Figure', 'Mean', 'Deviation', 'Min', 'Max'], rows),
      lines('note', [`Deviation is the standard deviation between runs. ${margin}`]),
    ],
  };
}

/** Explanation of the tables, printed once below them. */
function readingSection(questions: Question[]): Section {
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

/** Returns the machines and versions; null before the first run. */
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

/** Returns a line with the reasons for each combination with missing runs. */
export function missingRuns({ combinations, runs, plan }: Study): string[] {
  // The option `detect` lets the study decide the number of rounds itself.
  const rounds = plan.detect === undefined ? plan.repeat : Math.max(1, ...runs.map(({ block }) => block));
  return combinations
    .filter(({ usable }) => usable < rounds)
    .map(({ levels, usable }) => {
      const label = labelOf(levels);
      const own = runs.filter((run) => labelOf(run.levels) === label);
      const missing = rounds - new Set(own.map(({ block }) => block)).size;
      const reasons = [
        ...own.flatMap(({ number, problem }) => (problem === null ? [] : [`run ${number}: ${problem}`])),
        ...(missing > 0 ? [`${counted(missing, 'run')} not made yet`] : []),
      ];
      return `${label || plan.scenario}: figures from ${usable} of ${counted(rounds, 'run')}; ${reasons.join('; ')}`;
    });
}

/** Returns doubts about the comparison: other conditions that changed, or levels without any recorded difference. */
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

/** Returns the conditions that differ between runs. */
function differing(runs: MeasuredRun[]): Mismatch[] {
  return mismatches(runs.flatMap(({ result }) => (result ? [[result]] : [])));
}
