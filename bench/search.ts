/**
 * How far the answers of `search` are from the truth, and what they take: whole searches against simulated deployments whose
 * limit is known. `npm run bench:search` prints a table: the share of answers that are off by more than the tolerance, and the
 * median runs and minutes, at a minute for each run.
 */

import { bracket, type Tried } from '../report/search/bracket.ts';
import { NO_CEILING, nextStep, restAfter } from '../report/search/next.ts';
import { median } from '../report/statistics/statistics.ts';
import { decimals } from '../report/text/format.ts';
import { table } from '../report/text/table.ts';
import { uniforms } from '../test/helpers/random-source.ts';

/** A deployment at work: `seconds` is the time since it has last broken. */
type Deployment = (limit: number) => (level: number, secondsSinceBreak: number, random: () => number) => boolean;

const SOFTNESS = 0.02;

export const DEPLOYMENTS: Record<string, { what: string; holds: Deployment; edges?: (limit: number) => number[] }> = {
  steep: { what: 'holds up to its limit, and never above', holds: (limit) => (level) => level <= limit },
  soft: {
    what: 'half of the runs hold at its limit, nine of ten 4 % below, one of ten 4 % above',
    holds: (limit) => (level, _, random) => random() < 1 / (1 + (level / limit) ** (1 / SOFTNESS)),
  },
  flaky: {
    what: 'steep, and 10 % of its runs fail at any level',
    holds: (limit) => (level, _, random) => level <= limit && random() >= 0.1,
  },
  'slow to recover': {
    what: 'steep, and holds nothing for 30 s after a run that broke',
    holds: (limit) => (level, seconds) => level <= limit && seconds >= 30,
  },
  'slow in part': {
    what: 'steep, and holds 70 % of its limit for a minute after a run that broke',
    holds: (limit) => (level, seconds) => level <= (seconds >= 60 ? limit : 0.7 * limit),
  },
  'very slow': {
    what: 'steep, and holds nothing for 100 s after a run that broke',
    holds: (limit) => (level, seconds) => level <= limit && seconds >= 100,
  },
  'very slow in part': {
    what: 'steep, and holds half of its limit for 100 s after a run that broke',
    holds: (limit) => (level, seconds) => level <= (seconds >= 100 ? limit : limit / 2),
  },
  'slow and flaky': {
    what: 'nothing for 30 s after a run that broke, and 10 % of its runs fail at any level',
    holds: (limit) => (level, seconds, random) => level <= limit && seconds >= 30 && random() >= 0.1,
  },
  band: {
    what: 'steep, and breaks between 60 % and 70 % of its limit, too: both edges are right',
    holds: (limit) => (level) => level <= limit && !(level > 0.6 * limit && level < 0.7 * limit),
    edges: (limit) => [limit, 0.6 * limit],
  },
};

export const RULES = { from: 1000, to: null, factor: 2, tolerance: 0.05, repeat: 2 };
const REST_SECONDS = 30;
const RUN_SECONDS = 60;
const MOST_RUNS = 200;
const SEARCHES = 2000;

interface Searched {
  runs: number;
  minutes: number;
  isRight: boolean;
}

/** @param seed of what is random in it, and of its limit, from 300 to 60,000 */
function simulate(name: keyof typeof DEPLOYMENTS, seed: number): Searched {
  const { holds, edges = (limit) => [limit] } = DEPLOYMENTS[name] as (typeof DEPLOYMENTS)[string];
  const random = uniforms(seed);
  const limit = Math.round(300 * 200 ** random());
  const deployment = holds(limit);
  const runs: Tried[] = [];
  let seconds = 0;
  let brokeAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const step = nextStep(runs, runs.length, RULES, (level) => Math.max(1, Math.floor(level)), NO_CEILING);
    if ('end' in step || runs.length === MOST_RUNS) {
      const held = bracket(runs).held?.level;
      const isRight =
        held !== undefined &&
        edges(limit).some((edge) => held <= edge * (1 + RULES.tolerance) && held * (1 + RULES.tolerance) >= edge - 1);
      return { runs: runs.length, minutes: seconds / 60, isRight };
    }
    seconds += restAfter(runs, REST_SECONDS);
    const outcome = deployment(step.level, seconds - brokeAt, random) ? 'holds' : 'breaks';
    seconds += RUN_SECONDS;
    if (outcome === 'breaks') brokeAt = seconds;
    runs.push({ ...step, outcome, blame: outcome === 'breaks' ? 'deployment' : null });
  }
}

/** @returns a row of the table */
export function summarize(name: string, searches: number) {
  const found = Array.from({ length: searches }, (_, seed) => simulate(name, seed + 1));
  const runs = found.map(({ runs }) => runs).sort((a, b) => a - b);
  return {
    offPercent: (100 * found.filter(({ isRight }) => !isRight).length) / searches,
    runs: median(runs) as number,
    most: runs.at(Math.floor(0.95 * searches)) as number,
    minutes: median(found.map(({ minutes }) => minutes)) as number,
  };
}

if (import.meta.main) {
  const rows = Object.entries(DEPLOYMENTS).map(([name, { what }]) => {
    const { offPercent, runs, most, minutes } = summarize(name, SEARCHES);
    return [name, what, `${decimals(offPercent, 1)} %`, String(runs), String(most), decimals(minutes, 0)];
  });
  const head = ['Deployment', '', 'Off by over 5 %', 'Runs', 'p95', 'Minutes'];
  console.log(table(head, rows, '', ['left', 'left', 'right', 'right', 'right', 'right']).join('\n'));
}
