/** A search as a report: the answer, what broke, the machines that users need, and all runs. */
import type { Search, SearchPlan, SearchRun, Sizing } from '../../protocol/documents/search.ts';
import { levelsChart } from '../charts/levels.ts';
import { conditionText } from '../conditions/conditions.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { amount } from '../model/amount.ts';
import { type Cell, type Document, grid, lines, type Section, type Table, type Tone } from '../model/document.ts';
import { counted, decimals, durationText, integer } from '../text/format.ts';
import { amountText, levelText, type SearchedRun } from './answer.ts';

export const OUTCOMES: Record<SearchRun['outcome'], string> = {
  holds: 'held',
  breaks: 'broke',
  cannotTell: 'cannot tell',
  error: 'no result',
};
const PURPOSES: Record<SearchRun['purpose'], string> = { step: 'step', bisect: 'bisection', confirm: 'confirmation' };
const DECIDES = { held: 'what was held', memory: 'memory', cpu: 'the CPU of idle connections' };
const WALLS = { held: 'Held', memory: 'Memory', cpu: 'CPU of idle connections' };

/** @param runs those of `search.runs` */
export function searchDocument(search: Search, runs: SearchedRun[]): Document {
  const { answer, plan, limit, sizing } = search;
  return {
    title: 'Search for the maximum',
    subtitle: questionOf(plan),
    answer: {
      tone: toneOf(search),
      title: answer.sentence,
      lines: [...certaintyOf(search), ...(limit ? [`To raise ${limit.name}: \`${limit.raise}\``] : [])],
      findings: [],
      reasons: [],
    },
    sections: [
      ...evidence(search),
      {
        id: 'machines',
        title: 'Machines of this kind',
        blocks: sizing
          ? [...sizingTables(sizing), lines('note', [sizingNote(sizing, plan.headroom)])]
          : [lines('absent', ['No table of machines: no level with connections held.'])],
      },
      ...byLevel(runs),
      {
        id: 'runs',
        title: 'Runs',
        lead: 'In the order in which they were made. Each has its own report in the folder runs, and its output in logs.',
        blocks: [runsTable(search.runs)],
      },
    ],
  };
}

/** @returns what the search was asked for: `scenarios/1k.yml: connections from 1,000 until …` */
export function questionOf({ scenario, vary, until, from, to }: SearchPlan): string {
  const rules =
    until.length === 0
      ? 'a connection fails or is lost, a copy of a broadcast does not arrive, or the verdict is against the deployment'
      : until.map((condition) => `\`${conditionText(condition)}\``).join(' or ');
  const range = `from ${levelText(from)}${to === null ? '' : ` to ${levelText(to)}`}`;
  return `${scenario}: ${vary} ${range}, until ${rules}`;
}

/** How sure the answer is; empty before there is one. */
function certaintyOf({ plan, runs, answer: { held, heldRuns, broke, end } }: Search): string[] {
  const luck = runs.filter(({ level, outcome }) => outcome === 'holds' && held !== null && level > held);
  const failed = [...new Set(luck.map(({ level }) => level))];
  return [
    ...(held === null
      ? []
      : [
          `${amountText(held, plan.vary)} held in ${heldRuns === 1 ? 'the only run' : `all ${integer(heldRuns)} runs`} at that level.`,
        ]),
    ...(end === 'found' && held !== null && broke !== null
      ? [
          `The limit is between ${levelText(held)} and ${levelText(broke)}: ${decimals((100 * (broke - held)) / held, 1)} % apart.`,
        ]
      : []),
    ...failed.map(
      (level) =>
        `${amountText(level, plan.vary)} held in ${counted(luck.filter((run) => run.level === level).length, 'run')}, but this level or a lower one broke in another: it is not the answer.`,
    ),
  ];
}

/** Only a limit of the deployment that was found is an answer without reserve. */
function toneOf({ answer: { end } }: Search): Tone {
  if (end === 'found' || end === 'highest') return 'good';
  return end === 'none' ? 'bad' : 'doubt';
}

function evidence({ answer: { evidence: found, broke } }: Search): Section[] {
  if (found.length === 0 || broke === null) return [];
  return [{ id: 'evidence', title: `What the run at ${levelText(broke)} shows`, blocks: [lines('list', found)] }];
}

/** Machines for a number of users, and what limits one of them. */
export function sizingTables({ rows, atMost, walls }: Sizing): [users: Table, walls: Table] {
  return [
    grid(
      'Machines for a number of users',
      ['Users', 'Machines', 'Users on each', 'Memory of each, MB', 'Cores of each, idle', 'All connect again in'],
      rows.map(({ users, machines, memoryBytes, idleCores, reconnectSeconds }) => [
        integer(users),
        atMost && machines > 1 ? `at most ${integer(machines)}` : integer(machines),
        integer(Math.ceil(users / machines)),
        amount('megabytes', memoryBytes),
        idleCores === null ? '–' : decimals(idleCores, 2),
        reconnectSeconds === null ? '–' : durationText(reconnectSeconds),
      ]),
    ),
    grid(
      'Limits of one machine',
      ['Limit of one machine', 'Connections', 'From'],
      walls.map(({ name, max, assumption }) => [WALLS[name], max === null ? 'not known' : integer(max), assumption]),
    ),
  ];
}

/** How to read the table of machines. */
export function sizingNote({ perMachine, decides }: Sizing, headroom: number): string {
  const percent = decimals(100 * headroom, 0);
  return `One machine takes ${integer(perMachine)} connections with ${percent} % of every limit left free; ${DECIDES[decides]} decides. What an adapter or a proxy between several machines costs, one machine does not show.`;
}

/** At each level, the runs that are not INVALID; a single level has nothing to compare. */
function byLevel(runs: SearchedRun[]): Section[] {
  const usable = runs.flatMap(({ run, result }) => (result && isUsable(result) ? [{ level: run.level, result }] : []));
  const levels = [...new Set(usable.map(({ level }) => level))].sort((a, b) => a - b);
  if (levels.length < 2) return [];
  const sets = levels.map((level) => usable.filter((one) => one.level === level).map(({ result }) => result));
  const charts = measuredFigures(sets).map(({ figure, spreads }) => ({
    chart: levelsChart(figure, levels.map(levelText), [{ name: '', spreads }]),
    note: [],
  }));
  return [
    {
      id: 'figures',
      title: 'By level',
      lead: 'Circles are means of the runs at a level, with Student’s 95 % interval of the mean where there are three or more.',
      appendix: true,
      blocks: [{ kind: 'charts', legend: [], charts }],
    },
  ];
}

function runsTable(runs: SearchRun[]): Table {
  return grid(
    'Runs',
    ['Run', 'Level', 'Why', 'Outcome', 'Verdict', 'Seconds', 'What happened'],
    runs.map(({ number, level, purpose, outcome, status, seconds, because }): Cell[] => [
      String(number),
      levelText(level),
      PURPOSES[purpose],
      OUTCOMES[outcome],
      status ?? '–',
      integer(Math.round(seconds)),
      because.join('; '),
    ]),
  );
}
