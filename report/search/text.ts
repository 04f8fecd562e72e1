/** The text of a search, shared by the terminal, the page and Markdown. */
import type { Search, SearchPlan, SearchRun, Sizing } from '../../protocol/documents/search.ts';
import { conditionText } from '../conditions/conditions.ts';
import { counted, decimals, durationText, integer, megabytes } from '../text/format.ts';
import { amountText, levelText } from './answer.ts';

export const OUTCOMES: Record<SearchRun['outcome'], string> = {
  holds: 'held',
  breaks: 'broke',
  cannotTell: 'cannot tell',
  error: 'no result',
};

const PURPOSES: Record<SearchRun['purpose'], string> = { step: 'step', bisect: 'bisection', confirm: 'confirmation' };

export const RUNS_HEAD = ['Run', 'Level', 'Why', 'Outcome', 'Verdict', 'Seconds', 'What happened'];

export const SIZING_HEAD = [
  'Users',
  'Machines',
  'Users on each',
  'Memory of each',
  'CPU of each, idle',
  'All connect again in',
];

export const WALLS_HEAD = ['Limit of one machine', 'Connections', 'From'];

/** @returns what the search was asked for: `scenarios/1k.yml: connections from 1,000 until …` */
export function questionOf({ scenario, vary, until, from, to }: SearchPlan): string {
  const rules =
    until.length === 0
      ? 'a connection fails or is lost, a copy of a broadcast does not arrive, or the verdict is against the deployment'
      : until.map((condition) => `\`${conditionText(condition)}\``).join(' or ');
  const range = `from ${levelText(from)}${to === null ? '' : ` to ${levelText(to)}`}`;
  return `${scenario}: ${vary} ${range}, until ${rules}`;
}

/** @returns lines about how sure the answer is; empty before there is one */
export function certaintyOf({ plan, runs, answer: { held, heldRuns, broke, end } }: Search): string[] {
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

/** Cells below `RUNS_HEAD`. */
export function runRow({ number, level, purpose, outcome, status, seconds, because }: SearchRun): string[] {
  return [
    String(number),
    levelText(level),
    PURPOSES[purpose],
    OUTCOMES[outcome],
    status ?? '–',
    integer(Math.round(seconds)),
    because.join('; '),
  ];
}

/** @returns rows below `SIZING_HEAD` */
export function sizingRows({ rows, atMost }: Sizing): string[][] {
  return rows.map(({ users, machines, memoryBytes, idleCores, reconnectSeconds }) => [
    integer(users),
    atMost && machines > 1 ? `at most ${integer(machines)}` : integer(machines),
    integer(Math.ceil(users / machines)),
    memoryBytes === null ? '–' : `${megabytes(memoryBytes)} MB`,
    idleCores === null ? '–' : `${decimals(idleCores, 2)} cores`,
    reconnectSeconds === null ? '–' : durationText(reconnectSeconds),
  ]);
}

const DECIDES = { held: 'what was held', memory: 'memory', cpu: 'the CPU of idle connections' };
const WALL_TITLES = { held: 'Held', memory: 'Memory', cpu: 'CPU of idle connections' };

/** Cells below `WALLS_HEAD`. */
export function wallRow({ name, max, assumption }: Sizing['walls'][number]): string[] {
  return [WALL_TITLES[name], max === null ? 'not known' : integer(max), assumption];
}

/** @returns the heading of the evidence; null without any */
export function evidenceTitle({ answer: { evidence, broke } }: Search): string | null {
  return evidence.length === 0 || broke === null ? null : `What the run at ${levelText(broke)} shows`;
}

/** @returns how to read the table of machines */
export function sizingNote(sizing: Sizing, headroom: number): string {
  const percent = decimals(100 * headroom, 0);
  return `One machine takes ${integer(sizing.perMachine)} connections with ${percent} % of every limit left free; ${DECIDES[sizing.decides]} decides. What an adapter or a proxy between several machines costs, one machine does not show.`;
}

/** @returns why there is no table of machines */
export const NO_SIZING = 'No table of machines: no level with connections held.';
