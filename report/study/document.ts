/** A study as a report: for each name that varies, what its levels change. */
import type { Study } from '../../protocol/documents/study.ts';
import { levelsChart, levelsLegend } from '../charts/levels.ts';
import { type Mismatch, mismatches } from '../compare/comparability.ts';
import type { ComparedFigure } from '../compare/compare.ts';
import {
  ASPECTS,
  answerText,
  byAnswer,
  comparedHead,
  comparedRow,
  differenceText,
  headlineOf,
  notes,
} from '../compare/text.ts';
import { type Document, type Drawings, grid, lines, type Section } from '../model/document.ts';
import { counted } from '../text/format.ts';
import { type Context, labelOf, type MeasuredRun, type Question, questionsOf } from './summarize.ts';

const POOLED =
  'The noise of a figure is how much runs of the same combination differ, in percent of their mean: over all combinations of the study, or of these two where they differ more.';

/** @param runs in the order of `study.runs` */
export function studyDocument(study: Study, runs: MeasuredRun[]): Document {
  const questions = questionsOf(study.plan, runs);
  const holes = holesOf(study);
  return {
    title: titleOfStudy(study),
    subtitle: study.plan.scenario,
    answer: {
      tone: holes.length > 0 ? 'doubt' : 'plain',
      title: progressText(study),
      lines: questions.flatMap(answersOf),
      findings: [],
      reasons: [],
    },
    sections: [
      ...listed('missing', 'Missing', holes),
      ...listed('doubts', 'Doubts', doubtsOf(runs, questions)),
      ...questions.map(questionSection),
      runsSection(study),
    ],
  };
}

export function titleOfStudy({ name, title }: Study): string {
  return title || `Study ${name}`;
}

/** @returns `8 of 12 runs are done` */
export function progressText({ runs, planned }: Study): string {
  const done = new Set(runs.map(({ block, levels }) => `${block} ${labelOf(levels)}`)).size;
  return `${done} of ${counted(planned, 'run')} ${planned === 1 ? 'is' : 'are'} done`;
}

/** One line for each level after the first: `on against off, with workers=2: worse in Connect time p99`. */
function answersOf({ contexts }: Question): string[] {
  return contexts.flatMap((context) =>
    context.levels
      .slice(1)
      .map((_, index) => `${pairOf(context, index + 1)}: ${headlineOf(context.comparison, index + 1).text}`),
  );
}

/** @returns `TLS: on against off, with workers=2` */
function pairOf({ levels, others }: Context, index: number): string {
  const withOthers = Object.keys(others).length > 0 ? `, with ${labelOf(others)}` : '';
  return `${levels[index]} against ${levels[0]}${withOthers}`;
}

function questionSection(question: Question, position: number): Section {
  const { contexts } = question;
  const tables = contexts.flatMap((context) =>
    context.levels.slice(1).map((level, index) =>
      grid(
        pairOf(context, index + 1),
        comparedHead(String(context.levels[0]), String(level)),
        byAnswer(context.comparison.figures, index + 1).map((figure) => comparedRow(figure, index + 1)),
        true,
      ),
    ),
  );
  const figures = contexts.flatMap(({ comparison }) => comparison.figures);
  const pooled = figures.some(({ differences }) => differences.some(({ noise }) => noise === 'study'));
  return {
    id: `question-${position + 1}`,
    title: `What does ${question.name} change?`,
    blocks: [
      lines('list', answersOf(question)),
      charts(question),
      lines('note', [
        'Circles are means of the runs, with Student’s 95 % interval of the mean where there are three or more.',
        ...notes(figures),
        pooled && POOLED,
      ]),
      ...tables,
    ],
  };
}

/** Those with an answer come first. */
function charts({ levels, contexts }: Question): Drawings {
  const names = contexts.map(({ others }) => labelOf(others));
  const figures = new Map<string, ComparedFigure>();
  for (const { comparison } of contexts) for (const figure of comparison.figures) figures.set(figure.path, figure);
  const all = [...figures.values()].map((figure) => {
    const compared = contexts.map(({ others, levels: own, comparison }) => ({
      name: labelOf(others),
      own,
      figure: comparison.figures.find(({ path }) => path === figure.path),
    }));
    const answers = compared.flatMap(({ name, own, figure: one }) =>
      (one?.differences ?? []).map((difference, index) => ({
        answer: difference.answer,
        text: `${[own[index + 1], name].filter(Boolean).join(', ')}: ${one && `${differenceText(one, difference)}, ${answerText(one, index + 1)}`}`,
      })),
    );
    const beyond = answers.filter(({ answer }) => answer === 'better' || answer === 'worse').map(({ text }) => text);
    const none = answers.some(({ answer }) => answer === 'no-difference') ? 'no difference seen' : 'inconclusive';
    const series = compared.map(({ name, own, figure: one }) => ({
      name,
      spreads: levels.map((level) => one?.spreads[own.indexOf(level)] ?? null),
    }));
    const chart = levelsChart(figure, levels.map(String), series);
    return { chart, note: beyond.length > 0 ? beyond : [none], answered: beyond.length > 0 };
  });
  return {
    kind: 'charts',
    legend: names.length > 1 ? levelsLegend(names) : [],
    charts: all.sort((a, b) => Number(b.answered) - Number(a.answered)),
  };
}

function runsSection({ runs }: Study): Section {
  const rows = runs.map(({ number, block, levels, status, seconds, problem, result }) => [
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
    lead: 'In the order in which they were made. Each block has every combination once.',
    appendix: true,
    blocks: [grid('Runs', head, rows)],
  };
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
