/**
 * Measures accuracy and duration of `search` on simulated deployments with known limits: `npm run bench:search`. For
 * each deployment, it prints the share of answers with an error above the tolerance, the share of searches without an
 * answer because a level that had held broke, the median and p95 of the number of runs, and the median duration in
 * minutes.
 */

import { findBracket, type TriedRun } from '../report/search/bracket.ts';
import { NO_CEILING, nextSearchStep, restBeforeNextRun } from '../report/search/next-search-step.ts';
import { median } from '../report/statistics/statistics.ts';
import { decimalsText } from '../report/text/format.ts';
import { tableLines } from '../report/text/table.ts';
import { uniforms } from '../test/helpers/random-source.ts';

interface Time {
  sinceBreak: number;
  sinceStart: number;
}

interface Simulated {
  what: string;
  /**
   * Returns a function that decides whether a run at a level holds.
   * @param time time of the run, in seconds
   */
  holds: (limit: number) => (level: number, time: Time, random: () => number) => boolean;
  /**
   * Returns the correct answers. Default: the limit.
   * @param seconds duration of the search
   */
  edges?: (limit: number, seconds: number) => number[];
  repeat?: number;
}

/**
 * Simulates a deployment without a sharp limit. The probability that a run holds falls smoothly: 90 % of runs hold at a
 * level 2.2 × `softness` below the limit, and 10 % at the same distance above it.
 */
const soft =
  (softness: number): Simulated['holds'] =>
  (limit) =>
  (level, _, random) =>
    random() < 1 / (1 + (level / limit) ** (1 / softness));

const limitAfterDrift = (limit: number, seconds: number) => limit * (1 - (0.003 * seconds) / 60);

export const SIMULATED_DEPLOYMENTS: Record<string, Simulated> = {
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
    what: 'steep, and its limit falls by 0.3 % a minute: the limit at the end is correct',
    holds: (limit) => (level, time) => level <= limitAfterDrift(limit, time.sinceStart),
    edges: (limit, seconds) => [limitAfterDrift(limit, seconds)],
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
    what: 'steep, and breaks between 60 % and 70 % of its limit, too: both edges are correct',
    holds: (limit) => (level) => level <= limit && !(level > 0.6 * limit && level < 0.7 * limit),
    edges: (limit) => [limit, 0.6 * limit],
  },
};

export const BENCH_SEARCH_RULES = { from: 1000, to: null, factor: 2, tolerance: 0.05, repeat: 2 };
const REST_SECONDS = 30;
const RUN_SECONDS = 60;
const MAX_RUNS = 200;
const SEARCHES = 2000;

interface SearchOutcome {
  runs: number;
  minutes: number;
  /** Whether the answer is correct; undefined if the search ended without an answer. */
  isRight: boolean | undefined;
}

/**
 * Runs a search.
 * @param seed seed of the outcomes and of the limit, which is between 300 and 60,000
 */
function simulate(name: keyof typeof SIMULATED_DEPLOYMENTS, seed: number): SearchOutcome {
  const {
    holds,
    edges = (limit) => [limit],
    repeat = BENCH_SEARCH_RULES.repeat,
  } = SIMULATED_DEPLOYMENTS[name] as Simulated;
  const random = uniforms(seed);
  const limit = Math.round(300 * 200 ** random());
  const deployment = holds(limit);
  const runs: TriedRun[] = [];
  let seconds = 0;
  let brokeAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const step = nextSearchStep(
      runs,
      runs.length,
      { ...BENCH_SEARCH_RULES, repeat },
      (level) => Math.max(1, Math.floor(level)),
      NO_CEILING,
    );
    if ('end' in step || runs.length === MAX_RUNS) {
      const held = findBracket(runs).held?.level;
      const isRight =
        held !== undefined &&
        edges(limit, seconds).some(
          (edge) =>
            held <= edge * (1 + BENCH_SEARCH_RULES.tolerance) && held * (1 + BENCH_SEARCH_RULES.tolerance) >= edge - 1,
        );
      const hasNoAnswer = 'end' in step && step.end === 'recovery';
      return { runs: runs.length, minutes: seconds / 60, isRight: hasNoAnswer ? undefined : isRight };
    }
    seconds += restBeforeNextRun(runs, REST_SECONDS);
    const outcome = deployment(step.level, { sinceBreak: seconds - brokeAt, sinceStart: seconds }, random)
      ? 'holds'
      : 'breaks';
    seconds += RUN_SECONDS;
    if (outcome === 'breaks') brokeAt = seconds;
    runs.push({ ...step, outcome, blame: outcome === 'breaks' ? 'deployment' : null });
  }
}

export function summarizeSearches(name: string, searches: number) {
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
  const rows = Object.entries(SIMULATED_DEPLOYMENTS).map(([name, { what }]) => {
    const { offPercent, endedPercent, runs, most, minutes } = summarizeSearches(name, SEARCHES);
    const shares = [offPercent, endedPercent].map((percent) => `${decimalsText(percent, 1)} %`);
    return [name, what, ...shares, String(runs), String(most), decimalsText(minutes, 0)];
  });
  const head = ['Deployment', '', 'Off by over 5 %', 'No answer', 'Runs', 'p95', 'Minutes'];
  console.log(tableLines(head, rows, '', ['left', 'left', 'right', 'right', 'right', 'right', 'right']).join('\n'));
}
