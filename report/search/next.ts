/** Next step of a search. Pure: it follows from the runs so far, so a resumed search continues. */
import type { SearchEnd, SearchPlan, SearchRun } from '../../protocol/documents/search-schema.ts';
import { bracket, fadedLevels, type Tried } from './bracket.ts';

export type Step = { level: number; purpose: SearchRun['purpose'] } | { end: SearchEnd };

/** @returns the possible level that is nearest below, or the lowest one */
type Snap = (level: number) => number;

type Rules = Pick<SearchPlan, 'from' | 'to' | 'factor' | 'tolerance' | 'repeat'>;

/** Beyond any level; a number that levels can be computed from. */
export const NO_CEILING = Number.MAX_SAFE_INTEGER;
/** Repeats of a level that held before, each after twice the rest of the previous one. */
const MAX_CONTROLS = 3;
/** Levels that held first and broke later, as if by bad luck: with more of them, the deployment holds less with time. */
const MAX_FADED = 3;
/** A level this high that held right after a break shows that the deployment has recovered. */
const LIKE = 0.9;

/**
 * A search is a bisection with noisy answers: a level that broke is asked again until one answer leads (Waeber, Frazier,
 * Henderson, SIAM J. Control Optim. 51(3), 2013, test each point in the same way). A level that held need not be asked
 * again before it is the answer, as levels above it are asked, too. At the end, both sides of the answer are asked again.
 * @param runs in the order in which they were made
 * @param fresh how many of them this start of the search has made: what ended an earlier one is tried again
 * @param ceiling that the doctor gives
 */
export function nextStep(runs: Tried[], fresh: number, rules: Rules, snap: Snap, ceiling: number = NO_CEILING): Step {
  const last = fresh > 0 ? runs.at(-1) : undefined;
  if (last?.outcome === 'error') return { end: 'error' };
  if (last?.outcome === 'cannotTell') {
    // The disturbance may be over.
    const twice = fresh > 1 && runs.at(-2)?.outcome === 'cannotTell';
    const end = last.blame === 'generator' || last.blame === 'machine' ? last.blame : 'measurement';
    return twice ? { end } : { level: last.level, purpose: last.purpose };
  }
  // A disturbance of the search's earlier start may be over.
  const made = runs.slice(runs.length - fresh).map(({ level }) => level);
  if (fadedLevels(runs).filter((level) => made.includes(level)).length > MAX_FADED) return { end: 'recovery' };
  const asked = rules.to ?? NO_CEILING;
  const top = Math.min(asked, ceiling);
  const { held: best, broke: worst, open } = bracket(runs);
  const [held, broke] = [best?.level, worst?.level];
  const capped = (level: number) => snap(Math.min(level, top));
  if (held === undefined) {
    const lowest = open?.level ?? broke;
    const level = lowest === undefined ? capped(rules.from) : snap(lowest / rules.factor);
    if (level > ceiling) return { end: 'doctor' };
    if (lowest === undefined || level < lowest) return { level, purpose: 'step' };
    return open ? { level: lowest, purpose: 'again' } : { end: 'none' };
  }
  if (open) {
    const controls = runs.length - 1 - runs.findLastIndex(({ purpose }) => purpose !== 'control');
    // Once the deployment has recovered, a control run that breaks counts for its own level, and has rested long enough.
    const hasRested = runs.at(-1)?.outcome === 'holds' || recovers(runs, LIKE * open.level);
    if (hasRested || (controls > 0 && recovers(runs))) return { level: open.level, purpose: 'again' };
    if (fresh > 0 && controls >= MAX_CONTROLS) return { end: 'recovery' };
    return { level: held, purpose: 'control' };
  }
  if (broke === undefined) {
    // A doctor's ceiling is an estimate; `to` is meant exactly.
    const reached = held >= snap(top) || (ceiling === top && top <= held * (1 + rules.tolerance));
    if (!reached) return { level: upwards(held, rules.factor, capped), purpose: 'step' };
  } else {
    const middle = broke - held > (held * rules.tolerance) / 2 ? between(held, broke, snap) : undefined;
    if (middle !== undefined) return { level: middle, purpose: 'bisect' };
  }
  if ((best?.held ?? 0) < 1 + rules.repeat) return { level: held, purpose: 'confirm' };
  if (worst) return worst.broke < 1 + rules.repeat ? { level: worst.level, purpose: 'confirm' } : { end: 'found' };
  return { end: ceiling < asked ? 'doctor' : 'highest' };
}

/** @returns seconds until the next run: none after one that held, more each time that the deployment may not have recovered */
export function restAfter(runs: Tried[], restSeconds: number): number {
  if (!['breaks', 'cannotTell'].includes(runs.at(-1)?.outcome ?? '')) return 0;
  const held = runs.findIndex(({ outcome }) => outcome === 'holds');
  const doubtful = runs.filter(({ purpose, outcome }, index) => {
    const isBrokenControl = purpose === 'control' && outcome === 'breaks';
    return isBrokenControl || (index > 0 && (held < 0 || index < held));
  });
  return restSeconds * Math.min(2 ** doubtful.length, 2 ** (MAX_CONTROLS - 1));
}

/** @returns whether a level of at least that height held directly after a break, so that the rest is long enough for it */
function recovers(runs: Tried[], least = 0): boolean {
  return runs.some(
    ({ outcome, level }, index) => outcome === 'holds' && level >= least && runs[index - 1]?.outcome === 'breaks',
  );
}

/** @returns how many more runs there are at most until the answer, if those at each level agree; undefined while no level has broken */
export function runsLeft(runs: Tried[], { tolerance, repeat }: Rules): number | undefined {
  const { held, broke, open } = bracket(runs);
  if (held === undefined || broke === undefined) return undefined;
  const halvings = Math.max(0, Math.ceil(Math.log2((broke.level - held.level) / ((held.level * tolerance) / 2))));
  // A level that breaks takes two, and a control between them while levels are far apart.
  const controls = Math.min(halvings, MAX_CONTROLS);
  const confirmations = Math.max(0, 1 + repeat - held.held) + Math.max(0, 1 + repeat - broke.broke);
  return 2 * halvings + controls + confirmations - (open ? 1 : 0);
}

/** If possible levels are far apart, the next one is above the factor. There is one below the top. */
function upwards(held: number, factor: number, capped: Snap): number {
  for (let asked = held * factor; ; asked *= factor) {
    const level = capped(asked);
    if (level > held) return level;
  }
}

/** @returns a possible level as near to the middle as a few attempts find it; undefined if there seems to be none */
function between(held: number, broke: number, snap: Snap): number | undefined {
  for (const share of [1 / 2, 5 / 8, 3 / 8, 3 / 4, 1 / 4, 7 / 8, 15 / 16, 1 / 8]) {
    const level = snap(held + (broke - held) * share);
    if (level > held && level < broke) return level;
  }
  return undefined;
}
