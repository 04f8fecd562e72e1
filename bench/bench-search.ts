/**
 * How far the answers of `search` are from the truth, and what they take: whole searches against simulated deployments whose
 * limit is known. `npm run bench:search` prints a table: the share of answers that are off by more than the tolerance, that of
 * searches that end because what had held broke, and the median runs and minutes, at a minute for each run.
 */

import { bracket, type Tried } from '../report/search/bracket.ts';
import { NO_CEILING, nextStep, restAfter } from '../report/search/next.ts';
import { median } from '../report/statistics/statistics.ts';
import { decimals } from '../report/text/format.ts';
import { table } from '../report/text/table.ts';
import { uniforms } from '../test/helpers/random-source.ts';

interface Time {
  sinceBreak: number;
  sinceStart: number;
}

interface Simulated {
  what: string;
  /** A deployment at work. @param time in seconds */
  holds: (limit: number) => (level: number, time: Time, random: () => number) => boolean;
  /** The right answers, if there is another than the limit. @param seconds that the search took */
  edges?: (limit: number, seconds: number) => number[];
  repeat?: number;
}

/** @param softness a tenth of the runs hold at a limit that is 2.2 times as much higher */
const soft =
  (softness: number): Simulated['holds'] =>
  (limit) =>
  (level, _, random) =>
    random() < 1 / (1 + (level / limit) ** (1 / softness));

const drifted = (limit: number, seconds: number) => limit * (1 - (0.003 * seconds) / 60);

export const DEPLOYMENTS: Record<string, Simulated> = {
  steep: { what: 'holds up to its limit, and never above', holds: (limit) => (level) => level <= limit },
  soft: {
    what: 'half of the runs hold at its limit, nine of ten 4 % below, one of ten 4 % above',
    holds: soft(0.02),
  },
  softer: {
    what: 'nine of ten runs hold 10 % below, one of ten 10 % above; with --times 9',
    holds: soft(0.0455),
    repeat: 8,
  },
  drifts: {
    what: 'steep, and its limit falls by 0.3 % a minute: the one at the end is right',
    holds: (limit) => (level, time) => level <= drifted(limit, time.sinceStart),
    edges: (limit, seconds) => [drifted(limit, seconds)],
  },
  flaky: {
    what: 'steep, and 10 % of its runs fail at any level',
    holds: (limit) => (level, _, random) => level <= limit && random() >= 0.1,
  },
  'slow to recover': {
    what: 'steep, and holds nothing for 30 s after a run that broke',
    holds: (limit) => (level, time) => level <= limit && time.sinceBreak >= 30,
  },
  'slow in part': {
    what: 'steep, and holds 70 % of its limit for a minute after a run that broke',
    holds: (limit) => (level, time) => level <= (time.sinceBreak >= 60 ? limit : 0.7 * limit),
  },
  'very slow': {
    what: 'steep, and holds nothing for 100 s after a run that broke',
    holds: (limit) => (level, time) => level <= limit && time.sinceBreak >= 100,
  },
  'very slow in part': {
    what: 'steep, and holds half of its limit for 100 s after a run that broke',
    holds: (limit) => (level, time) => level <= (time.sinceBreak >= 100 ? limit : limit / 2),
  },
  'slow and flaky': {
    what: 'nothing for 30 s after a run that broke, and 10 % of its runs fail at any level',
    holds: (limit) => (level, time, random) => level <= limit && time.sinceBreak >= 30 && random() >= 0.1,
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
  /** Undefined if the search says that it has no answer. */
  isRight: boolean | undefined;
}

/** @param seed of what is random in it, and of its limit, from 300 to 60,000 */
function simulate(name: keyof typeof DEPLOYMENTS, seed: number): Searched {
  const { holds, edges = (limit) => [limit], repeat = RULES.repeat } = DEPLOYMENTS[name] as Simulated;
  const random = uniforms(seed);
  const limit = Math.round(300 * 200 ** random());
  const deployment = holds(limit);
  const runs: Tried[] = [];
  let seconds = 0;
  let brokeAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const step = nextStep(
      runs,
      runs.length,
      { ...RULES, repeat },
      (level) => Math.max(1, Math.floor(level)),
      NO_CEILING,
    );
    if ('end' in step || runs.length === MOST_RUNS) {
      const held = bracket(runs).held?.level;
      const isRight =
        held !== undefined &&
        edges(limit, seconds).some(
          (edge) => held <= edge * (1 + RULES.tolerance) && held * (1 + RULES.tolerance) >= edge - 1,
        );
      const isOver = 'end' in step && step.end === 'recovery';
      return { runs: runs.length, minutes: seconds / 60, isRight: isOver ? undefined : isRight };
    }
    seconds += restAfter(runs, REST_SECONDS);
    const outcome = deployment(step.level, { sinceBreak: seconds - brokeAt, sinceStart: seconds }, random)
      ? 'holds'
      : 'breaks';
    seconds += RUN_SECONDS;
    if (outcome === 'breaks') brokeAt = seconds;
    runs.push({ ...step, outcome, blame: outcome === 'breaks' ? 'deployment' : null });
  }
}

export function summarize(name: string, searches: number) {
  const found = Array.from({ length: searches }, (_, seed) => simulate(name, seed + 1));
  const runs = found.map(({ runs }) => runs).sort((a, b) => a - b);
  return {
    offPercent: (100 * found.filter(({ isRight }) => isRight === false).length) / searches,
    endedPercent: (100 * found.filter(({ isRight }) => isRight === undefined).length) / searches,
    runs: median(runs) as number,
    most: runs.at(Math.floor(0.95 * searches)) as number,
    minutes: median(found.map(({ minutes }) => minutes)) as number,
  };
}

if (import.meta.main) {
  const rows = Object.entries(DEPLOYMENTS).map(([name, { what }]) => {
    const { offPercent, endedPercent, runs, most, minutes } = summarize(name, SEARCHES);
    const shares = [offPercent, endedPercent].map((percent) => `${decimals(percent, 1)} %`);
    return [name, what, ...shares, String(runs), String(most), decimals(minutes, 0)];
  });
  const head = ['Deployment', '', 'Off by over 5 %', 'No answer', 'Runs', 'p95', 'Minutes'];
  console.log(table(head, rows, '', ['left', 'left', 'right', 'right', 'right', 'right', 'right']).join('\n'));
}
