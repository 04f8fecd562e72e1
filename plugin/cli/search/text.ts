/** What a search prints at its end. */
import { join } from 'node:path';
import type { Search } from '../../../protocol/documents/search.ts';
import {
  certaintyOf,
  evidenceTitle,
  NO_SIZING,
  RUNS_HEAD,
  runRow,
  SIZING_HEAD,
  sizingNote,
  sizingRows,
  wallRow,
} from '../../../report/search/text.ts';
import { wrap } from '../../../report/text/format.ts';
import { table } from '../../../report/text/table.ts';

const INDENT = '  ';

/** The answer comes first. */
export function endingOf(search: Search, folder: string, width: number): string {
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
    `Search: ${join(folder, 'search.json')}, and beside it search.md, search.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}
