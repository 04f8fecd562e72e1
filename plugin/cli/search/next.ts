/** What a search does next. Pure: it follows from the runs so far, so a search that is resumed continues. */
import type { Blame, SearchEnd, SearchPlan, SearchRun } from '../../../protocol/documents/search.ts';
import { bracket, type Tried } from '../../../report/search/bracket.ts';
import type { Scale } from './scale.ts';

export type Step = { level: number; purpose: SearchRun['purpose'] } | { end: SearchEnd };

type Rules = Pick<SearchPlan, 'from' | 'to' | 'factor' | 'tolerance' | 'repeat'>;

/** Beyond any level; a number that levels can be computed from. */
export const NO_CEILING = Number.MAX_SAFE_INTEGER;

/**
 * @param runs in the order in which they were made
 * @param fresh how many of them this start of the search has made: what ended an earlier one is tried again
 * @param ceiling that the doctor gives
 */
export function nextStep(
  runs: Tried[],
  fresh: number,
  rules: Rules,
  snap: Scale['snap'],
  ceiling: number = NO_CEILING,
): Step {
  const last = fresh > 0 ? runs.at(-1) : undefined;
  if (last?.outcome === 'error') return { end: 'error' };
  if (last?.outcome === 'cannotTell') return { end: endOf(last.blame) };
  const asked = rules.to ?? NO_CEILING;
  const top = Math.min(asked, ceiling);
  const { held, heldRuns, broke } = bracket(runs);
  const capped = (level: number) => snap(Math.min(level, top));
  if (held === undefined) {
    const level = broke === undefined ? capped(rules.from) : snap(broke / rules.factor);
    if (level > ceiling) return { end: 'doctor' };
    return broke !== undefined && level >= broke ? { end: 'none' } : { level, purpose: 'step' };
  }
  if (broke === undefined) {
    // A doctor's ceiling is an estimate; `to` is meant exactly.
    const reached = held >= snap(top) || (ceiling === top && top <= held * (1 + rules.tolerance));
    if (!reached) return { level: upwards(held, rules.factor, capped), purpose: 'step' };
  } else {
    const middle = broke - held > held * rules.tolerance ? between(held, broke, snap) : undefined;
    if (middle !== undefined) return { level: middle, purpose: 'bisect' };
  }
  if (heldRuns < 1 + rules.repeat) return { level: held, purpose: 'confirm' };
  if (broke !== undefined) return { end: 'found' };
  return { end: ceiling < asked ? 'doctor' : 'highest' };
}

/** @returns how many more runs there are at most until the answer; undefined while no level has broken */
export function runsLeft(runs: Tried[], { tolerance, repeat }: Rules): number | undefined {
  const { held, heldRuns, broke } = bracket(runs);
  if (held === undefined || broke === undefined) return undefined;
  const halvings = Math.max(0, Math.ceil(Math.log2((broke - held) / (held * tolerance))));
  // Any level found on the way has held once.
  return halvings + 1 + repeat - (halvings > 0 ? 1 : heldRuns);
}

/** Where levels are far apart, the next one is further up than the factor says. There is one below the top. */
function upwards(held: number, factor: number, capped: Scale['snap']): number {
  for (let asked = held * factor; ; asked *= factor) {
    const level = capped(asked);
    if (level > held) return level;
  }
}

/** @returns a possible level as near to the middle as a few attempts find it; undefined if there seems to be none */
function between(held: number, broke: number, snap: Scale['snap']): number | undefined {
  for (const share of [1 / 2, 5 / 8, 3 / 8, 3 / 4, 1 / 4, 7 / 8, 15 / 16, 1 / 8]) {
    const level = snap(held + (broke - held) * share);
    if (level > held && level < broke) return level;
  }
  return undefined;
}

function endOf(blame: Blame | null): SearchEnd {
  return blame === 'generator' || blame === 'machine' ? blame : 'measurement';
}
