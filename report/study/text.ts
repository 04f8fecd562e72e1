/** The text of a study, shared by the terminal, the page and Markdown. */
import type { Study } from '../../protocol/documents/study.ts';
import { type Mismatch, mismatches } from '../compare/comparability.ts';
import { ASPECTS, headlineOf, notes } from '../compare/text.ts';
import { counted } from '../text/format.ts';
import { type Context, labelOf, type MeasuredRun, type Question } from './summarize.ts';

export const HEAD = ['Figure', 'Reference', 'Level', 'Difference', 'Interval', 'Answer'];

export function titleOfStudy({ name, title }: Study): string {
  return title || `Study ${name}`;
}

export function titleOfQuestion({ name }: Question): string {
  return `What does ${name} change?`;
}

/** @returns `8 of 12 runs are done` */
export function progressText({ runs, planned }: Study): string {
  const done = new Set(runs.map(({ block, levels }) => `${block} ${labelOf(levels)}`)).size;
  return `${done} of ${counted(planned, 'run')} ${planned === 1 ? 'is' : 'are'} done`;
}

/** @returns one line for each level after the first: `on against off, with workers=2: worse in Connect time p99` */
export function answersOf({ contexts }: Question): string[] {
  return contexts.flatMap((context) =>
    context.levels
      .slice(1)
      .map((_, index) => `${pairOf(context, index + 1)}: ${headlineOf(context.comparison, index + 1).text}`),
  );
}

/** @returns `on against off, with workers=2` */
export function pairOf({ levels, others }: Context, index: number): string {
  const withOthers = Object.keys(others).length > 0 ? `, with ${labelOf(others)}` : '';
  return `${levels[index]} against ${levels[0]}${withOthers}`;
}

const POOLED =
  'The noise of a figure is how much runs of the same combination differ, in percent of their mean: over all combinations of the study, or of these two where they differ more.';

/** How to read the tables of a question. */
export function notesOf({ contexts }: Question): string[] {
  const figures = contexts.flatMap(({ comparison }) => comparison.figures);
  const pooled = figures.some(({ differences }) => differences.some(({ noise }) => noise === 'study'));
  return [...notes(figures), ...(pooled ? [POOLED] : [])];
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
