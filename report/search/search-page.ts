/** Report of a search: the answer, its reasons, the number of machines for a number of users, and all runs. */
import type { MachineSizing, SearchPlan, SearchResult, SearchRun } from '../../protocol/documents/search-schema.ts';
import { conditionText } from '../conditions/conditions.ts';
import { amount } from '../model/amount.ts';
import {
  type AnswerTone,
  figuresTable,
  linesBlock,
  type ReportDocument,
  type ReportSection,
  type Table,
  type TableCell,
} from '../model/document.ts';
import { countText, decimalsText, durationText, integerText } from '../text/format.ts';
import { tallyLevels } from './bracket.ts';
import { heldRunsText, levelAmountText, levelText } from './search-answer.ts';

export const SEARCH_OUTCOME_WORDS: Record<SearchRun['outcome'], string> = {
  holds: 'held',
  breaks: 'broke',
  cannotTell: 'cannot tell',
  error: 'no result',
};
const PURPOSES: Record<SearchRun['purpose'], string> = {
  step: 'step',
  bisect: 'bisection',
  again: 'once more',
  control: 'control',
  confirm: 'confirmation',
};
const DECIDES = { held: 'what was held', memory: 'memory', cpu: 'the CPU of idle connections' };
const WALLS = { held: 'Held', memory: 'Memory', cpu: 'CPU of idle connections' };

export function searchDocument(search: SearchResult): ReportDocument {
  const { answer, plan, limit, sizing } = search;
  return {
    title: 'Search for the maximum',
    subtitle: searchQuestionText(plan),
    answer: {
      tone: toneOf(search),
      title: answer.sentence,
      lines: [...certaintyOf(search), ...(limit ? [`To raise ${limit.name}: \`${limit.raise}\``] : [])],
      findings: [],
      causes: [],
      lead: 'lines',
    },
    sections: [
      ...evidence(search),
      ...(sizing
        ? [
            {
              id: 'machines',
              title: 'Machines of this kind',
              blocks: [...sizingTables(sizing), linesBlock('note', [sizingTableNote(sizing, plan.headroom)])],
            },
          ]
        : []),
      {
        id: 'runs',
        title: 'Runs',
        lead: 'In the order they ran. Each has its own report in the folder runs, and its output in logs.',
        blocks: [runsTable(search.runs)],
      },
    ],
  };
}

/** Returns the question that a search answers, such as `scenarios/1k.yml: connections from 1,000 until …`. */
export function searchQuestionText({ scenario, vary, until, from, to }: SearchPlan): string {
  const rules =
    until.length === 0
      ? 'the run fails, or the deployment makes its figures unusable'
      : until.map((condition) => `\`${conditionText(condition)}\``).join(' or ');
  const range = `from ${levelText(from)}${to === null ? '' : ` to ${levelText(to)}`}`;
  return `${scenario}: ${vary} ${range}, until ${rules}`;
}

/** Describes how certain the answer is, and lists runs that contradict it; empty if there is no answer. */
function certaintyOf({ plan, runs, answer: { held, broke, end } }: SearchResult): string[] {
  if (held === null) return [];
  const tallies = tallyLevels(runs);
  const limit = tallies.find(({ level }) => end === 'found' && level === broke);
  const others = tallies.filter(
    (tally) => tally !== limit && (tally.level > held ? tally.held > 0 : tally.level < held && tally.broke > 0),
  );
  const failed = runs.filter(({ purpose, outcome }) => purpose === 'control' && outcome === 'breaks');
  return [
    ...(limit
      ? [
          `The limit is between ${levelText(held)} and ${levelText(limit.level)}, ${decimalsText((100 * (limit.level - held)) / held, 1)} % higher, which broke in ${limit.broke} of ${countText(limit.held + limit.broke, 'run')}.`,
        ]
      : []),
    ...others.map((tally) => {
      const why = tally.level > held ? ', but this level or a lower one broke: it is not the answer' : '';
      return `${levelAmountText(tally.level, plan.vary)} held in ${heldRunsText(tally)}${why}.`;
    }),
    ...(failed.length > 0
      ? [
          `After a break, a level that had held broke in ${countText(failed.length, 'run')}: the deployment needs longer than ${durationText(plan.restSeconds)} to recover.`,
        ]
      : []),
  ];
}

/** The answer is certain only if the deployment's own limit ended the search. */
function toneOf({ answer: { end } }: SearchResult): AnswerTone {
  if (end === 'found' || end === 'highest') return 'good';
  return end === 'none' ? 'bad' : 'doubt';
}

function evidence({ answer: { evidence: found, broke } }: SearchResult): ReportSection[] {
  if (found.length === 0 || broke === null) return [];
  return [
    {
      id: 'evidence',
      title: `What the run at ${levelText(broke)} shows`,
      blocks: [
        linesBlock(
          'list',
          found.map(({ text }) => text),
        ),
      ],
    },
  ];
}

/** Returns a table of machines for a number of users, and a table of the limits of one machine. */
export function sizingTables({ rows, atMost, walls }: MachineSizing): [users: Table, walls: Table] {
  return [
    figuresTable(
      'Machines for a number of users',
      ['Users', 'Machines', 'Users on each', 'Memory of each, MB', 'Cores of each, idle', 'All connect again in'],
      rows.map(({ users, machines, memoryBytes, idleCores, reconnectSeconds }) => [
        integerText(users),
        atMost && machines > 1 ? `at most ${integerText(machines)}` : integerText(machines),
        integerText(Math.ceil(users / machines)),
        amount('megabytes', memoryBytes),
        idleCores === null ? '–' : decimalsText(idleCores, 2),
        reconnectSeconds === null ? '–' : durationText(reconnectSeconds),
      ]),
    ),
    figuresTable(
      'Limits of one machine',
      ['Limit of one machine', 'Connections', 'From'],
      walls.map(({ name, max, assumption }) => [WALLS[name], max === null ? 'unknown' : integerText(max), assumption]),
    ),
  ];
}

/** Returns the note that explains the columns of the table of machines. */
export function sizingTableNote({ perMachine, decides }: MachineSizing, headroom: number): string {
  const percent = decimalsText(100 * headroom, 0);
  return `One machine takes ${integerText(perMachine)} connections with ${percent} % of every limit left free; ${DECIDES[decides]} decides. The cost of an adapter or a proxy between several machines is not included.`;
}

function runsTable(runs: SearchRun[]): Table {
  return figuresTable(
    'Runs',
    ['Run', 'Level', 'Why', 'Outcome', 'Verdict', 'Seconds', 'What happened'],
    runs.map(({ number, level, purpose, outcome, status, seconds, because }): TableCell[] => [
      String(number),
      levelText(level),
      PURPOSES[purpose],
      SEARCH_OUTCOME_WORDS[outcome],
      status ?? '–',
      integerText(Math.round(seconds)),
      because.map(({ text }) => text).join('; '),
    ]),
  );
}
