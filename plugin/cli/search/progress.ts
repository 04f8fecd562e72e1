/** What a search prints while it runs, and at its end. */
import { join } from 'node:path';
import type { Search, SearchRun } from '../../../protocol/documents/search.ts';
import { amountText } from '../../../report/search/answer.ts';
import {
  certaintyOf,
  evidenceTitle,
  NO_SIZING,
  questionOf,
  RUNS_HEAD,
  runRow,
  SIZING_HEAD,
  sizingNote,
  sizingRows,
  wallRow,
} from '../../../report/search/text.ts';
import { decimals, durationText, wrap } from '../../../report/text/format.ts';
import { table } from '../../../report/text/table.ts';
import { wasMeasured } from '../runs/child-run.ts';
import { runsLeft } from './next.ts';
import { SEARCH } from './resume.ts';

const INDENT = '  ';

export function begun({ plan, runs }: Search): string {
  const before = runs.length === 0 ? '' : `\nResumes after ${decimals(runs.length, 0)} earlier runs.`;
  return questionOf(plan) + before;
}

/** @param search without this run */
export function running(number: number, planned: Pick<SearchRun, 'level' | 'purpose'>, { plan, runs }: Search): string {
  const left = secondsLeft(runs, plan);
  const why = { step: '', bisect: ', between what held and what broke', confirm: ', once more' }[planned.purpose];
  const time = left === undefined ? '' : `; about ${durationText(left)} left`;
  return `Run ${number}: ${amountText(planned.level, plan.vary)}${why}${time}`;
}

export function ended({ outcome, seconds, because }: SearchRun): string {
  const what = { holds: 'held', breaks: 'broke', cannotTell: 'cannot tell', error: 'no result' }[outcome];
  const shown = outcome === 'holds' ? [] : because.slice(0, 2);
  return [`  ${what} after ${durationText(seconds)}`, ...shown.map((line) => `    ${line}`)].join('\n');
}

/** The answer comes first. */
export function outcome(search: Search, folder: string, width: number): string {
  const { answer, sizing, limit, runs } = search;
  const listed = (lines: string[]) => lines.flatMap((line) => wrap(INDENT + line, width, INDENT));
  const title = evidenceTitle(search);
  const evidence = title === null ? [] : ['', title, ...listed(answer.evidence)];
  return [
    '',
    ...wrap(answer.sentence, width, ''),
    ...listed(certaintyOf(search)),
    ...(limit ? listed([`To raise ${limit.name}: ${limit.raise}`]) : []),
    ...evidence,
    '',
    ...(sizing
      ? [
          'Machines of this kind',
          ...table(SIZING_HEAD, sizingRows(sizing), INDENT),
          '',
          ...listed([
            sizingNote(sizing, search.plan.headroom),
            ...sizing.walls.map((wall) => `${wallRow(wall).slice(0, 2).join(': ')}. ${wall.assumption}.`),
          ]),
        ]
      : [NO_SIZING]),
    '',
    'Runs',
    ...table(
      RUNS_HEAD.slice(0, -1),
      runs.map((run) => runRow(run).slice(0, -1)),
      INDENT,
    ),
    '',
    `Search: ${join(folder, SEARCH)}, and beside it search.md, search.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}

/** @returns by the slowest run so far; undefined while no level has broken */
export function secondsLeft(runs: Search['runs'], plan: Search['plan']): number | undefined {
  const left = runsLeft(runs, plan);
  const seconds = runs.filter(({ exitCode }) => wasMeasured(exitCode)).map((run) => run.seconds);
  return left === undefined || seconds.length === 0 ? undefined : left * Math.max(...seconds);
}
