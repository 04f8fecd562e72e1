/** Chooses the next step of a search. It depends only on the runs so far, so a search can be resumed. */
import type { SearchEnd, SearchPlan, SearchRun } from '../../protocol/documents/search-schema.ts';
import { fadedLevels, findBracket, type TriedRun } from './bracket.ts';

export type SearchStep = { level: number; purpose: SearchRun['purpose'] } | { end: SearchEnd };

/**
 * Rounds a level (number of connections or rate) down to the nearest possible level; returns the lowest possible level
 * if none is below.
 */
type Snap = (level: number) => number;

type Rules = Pick<SearchPlan, 'from' | 'to' | 'factor' | 'tolerance' | 'repeat'>;

/** Ceiling above every level, for a search without a limit. It is a safe integer, so arithmetic with it works. */
export const NO_CEILING = Number.MAX_SAFE_INTEGER;
/**
 * Maximum number of successive control runs. A control run repeats a level that held before. The pause before each
 * control run is twice as long as the previous pause.
 */
const MAX_CONTROLS = 3;
/**
 * Maximum number of levels that first held and later broke. More than this are not chance: the capacity decreases over
 * time.
 */
const MAX_FADED = 3;
/**
 * Share of a level. If a run at this share of the level held right after a run that broke, the deployment counts as
 * recovered.
 */
const RECOVERED_SHARE = 0.9;

/**
 * Returns the next step of a search. A search is a bisection with noisy answers. A level that broke is repeated until
 * its runs agree (Waeber, Frazier, Henderson, SIAM J. Control Optim. 51(3), 2013, test each point in the same way). A
 * level that held is repeated only at the end, because higher levels are tried as well. At the end, the levels on both
 * sides of the answer are repeated.
 * @param runs in chronological order
 * @param fresh number of runs since the search was last started or resumed; reasons that ended it before are ignored
 * @param ceiling highest level that the doctor allows
 */
export function nextSearchStep(
  runs: TriedRun[],
  fresh: number,
  rules: Rules,
  snap: Snap,
  ceiling: number = NO_CEILING,
): SearchStep {
  const last = fresh > 0 ? runs.at(-1) : undefined;
  if (last?.outcome === 'error') return { end: 'error' };
  if (last?.outcome === 'cannotTell') {
    // An undecided level is repeated once, because a disturbance can be temporary.
    const twice = fresh > 1 && runs.at(-2)?.outcome === 'cannotTell';
    const end = last.blame === 'generator' || last.blame === 'machine' ? last.blame : 'measurement';
    return twice ? { end } : { level: last.level, purpose: last.purpose };
  }
  // Counts only levels that were tried since the search was resumed, because an earlier disturbance can be over.
  const made = runs.slice(runs.length - fresh).map(({ level }) => level);
  if (fadedLevels(runs).filter((level) => made.includes(level)).length > MAX_FADED) return { end: 'recovery' };
  const asked = rules.to ?? NO_CEILING;
  const top = Math.min(asked, ceiling);
  const { held: best, broke: worst, open } = findBracket(runs);
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
    // A deployment that has recovered needs no control run. After a failed control run, the level itself is then
    // repeated.
    const hasRested = runs.at(-1)?.outcome === 'holds' || recovers(runs, RECOVERED_SHARE * open.level);
    if (hasRested || (controls > 0 && recovers(runs))) return { level: open.level, purpose: 'again' };
    if (fresh > 0 && controls >= MAX_CONTROLS) return { end: 'recovery' };
    return { level: held, purpose: 'control' };
  }
  if (broke === undefined) {
    // The doctor's ceiling is an estimate, so it need only be reached within the tolerance. The user's `to` must be
    // reached exactly.
    const reached = held >= snap(top) || (ceiling === top && top <= held * (1 + rules.tolerance));
    if (!reached) return { level: nextHigherLevel(held, rules.factor, capped), purpose: 'step' };
  } else {
    const middle = broke - held > (held * rules.tolerance) / 2 ? levelBetween(held, broke, snap) : undefined;
    if (middle !== undefined) return { level: middle, purpose: 'bisect' };
  }
  if ((best?.held ?? 0) < 1 + rules.repeat) return { level: held, purpose: 'confirm' };
  if (worst) return worst.broke < 1 + rules.repeat ? { level: worst.level, purpose: 'confirm' } : { end: 'found' };
  return { end: ceiling < asked ? 'doctor' : 'highest' };
}

/**
 * Returns the pause before the next run in seconds. It is 0 after a run that held, and grows with each sign that the
 * deployment has not recovered.
 */
export function restBeforeNextRun(runs: TriedRun[], restSeconds: number): number {
  if (!['breaks', 'cannotTell'].includes(runs.at(-1)?.outcome ?? '')) return 0;
  const held = runs.findIndex(({ outcome }) => outcome === 'holds');
  const doubtful = runs.filter(({ purpose, outcome }, index) => {
    const isBrokenControl = purpose === 'control' && outcome === 'breaks';
    return isBrokenControl || (index > 0 && (held < 0 || index < held));
  });
  return restSeconds * Math.min(2 ** doubtful.length, 2 ** (MAX_CONTROLS - 1));
}

/**
 * Returns whether a level of at least `minLevel` held directly after a run that broke. The pause is then long enough
 * for such a level.
 */
function recovers(runs: TriedRun[], minLevel = 0): boolean {
  return runs.some(
    ({ outcome, level }, index) => outcome === 'holds' && level >= minLevel && runs[index - 1]?.outcome === 'breaks',
  );
}

/** Returns the maximum number of further runs, if runs at the same level agree; undefined while no level has broken. */
export function maxRunsLeft(runs: TriedRun[], { tolerance, repeat }: Rules): number | undefined {
  const { held, broke, open } = findBracket(runs);
  if (held === undefined || broke === undefined) return undefined;
  const halvings = Math.max(0, Math.ceil(Math.log2((broke.level - held.level) / ((held.level * tolerance) / 2))));
  // Each bisection step can take two runs. Control runs are added while the levels are far apart.
  const controls = Math.min(halvings, MAX_CONTROLS);
  const confirmations = Math.max(0, 1 + repeat - held.held) + Math.max(0, 1 + repeat - broke.broke);
  return 2 * halvings + controls + confirmations - (open ? 1 : 0);
}

/**
 * Returns the next possible level above the level `held`. The step can exceed the factor. The caller ensures that there
 * is a possible level below the top.
 */
function nextHigherLevel(held: number, factor: number, capped: Snap): number {
  for (let asked = held * factor; ; asked *= factor) {
    const level = capped(asked);
    if (level > held) return level;
  }
}

/** Returns a possible level near the middle between two levels; undefined if a few attempts find none. */
function levelBetween(held: number, broke: number, snap: Snap): number | undefined {
  for (const share of [1 / 2, 5 / 8, 3 / 8, 3 / 4, 1 / 4, 7 / 8, 15 / 16, 1 / 8]) {
    const level = snap(held + (broke - held) * share);
    if (level > held && level < broke) return level;
  }
  return undefined;
}
