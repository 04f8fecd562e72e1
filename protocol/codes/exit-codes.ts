/** Exit codes of a run, and of `npx socketio-capacity`. Artillery's own: 11 a worker crashed. */
export const EXIT_CODES = {
  /** Something is worse than allowed: a threshold of Artillery's `ensure`, or of a baseline. */
  worse: 1,
  /** The settings, the machine or the target do not allow the run; nothing was measured. */
  refused: 2,
  /** The figures are there, with reasons to doubt them. */
  suspect: 3,
  /** The figures cannot be trusted. */
  invalid: 4,
} as const;

/** What `artillery run` exits with, for the reference. INVALID takes precedence over a missed threshold, and that over SUSPECT. */
export const RUN_EXIT_CODES: Record<number, string> = {
  0: 'passed: every threshold is met, and the measurement is VALID',
  1: 'failed: a threshold is missed, or the server refused all clients by an answer of its own; without the plugin, the engine could not start, or all virtual users failed',
  2: 'refused: settings or machine do not allow the run, or the target is not reachable (also a proxy’s 502 or 504) or not Socket.IO (also 404); nothing was measured',
  3: 'SUSPECT: the figures are there, with reasons to doubt them',
  4: 'INVALID: the figures cannot be trusted, or the run failed half-way',
  11: 'an Artillery worker crashed',
  130: 'stopped by Ctrl-C: the result has what was measured until then',
};

/** Stopped by Ctrl-C. */
export const STOPPED = 130;

/** `stack status`. */
export const NOT_UP = 3;

/** `compare` and `study`: inconclusive. */
export const INCONCLUSIVE = 5;

/** Why a run has no result: refused before its load, stopped by the user, or ended without writing one. */
type NoResult = 'refused' | 'stopped' | 'failed';

/** How a run, a comparison or a search ended. */
export type Ended =
  | NoResult
  | { verdict: 'VALID' | 'SUSPECT' | 'INVALID'; outcome: 'PASSED' | 'FAILED' | 'UNKNOWN' }
  | { answer: 'better' | 'no-difference' | 'worse' | 'inconclusive' }
  | { search: keyof typeof OF_SEARCH };

const { worse, refused, suspect, invalid } = EXIT_CODES;

const WITHOUT_RESULT: Record<NoResult, number> = { refused, stopped: STOPPED, failed: invalid };

const OF_RESULT = {
  VALID: { PASSED: 0, FAILED: worse, UNKNOWN: invalid },
  SUSPECT: { PASSED: suspect, FAILED: worse, UNKNOWN: invalid },
  INVALID: { PASSED: invalid, FAILED: invalid, UNKNOWN: invalid },
};

const OF_ANSWER = { better: 0, 'no-difference': 0, worse, inconclusive: INCONCLUSIVE };

/** A search whose last run has no result has that run's exit code. */
const OF_SEARCH = {
  found: 0,
  highest: 0,
  none: worse,
  recovery: worse,
  doctor: suspect,
  generator: suspect,
  machine: suspect,
  measurement: suspect,
};

/** Returns the exit code for every way to end. Only a measurement that shows success has 0. */
export function exitCodeOf(ended: Ended): number {
  if (typeof ended === 'string') return WITHOUT_RESULT[ended];
  if ('answer' in ended) return OF_ANSWER[ended.answer];
  return 'search' in ended ? OF_SEARCH[ended.search] : OF_RESULT[ended.verdict][ended.outcome];
}

const FROM_BEST_TO_WORST: number[] = [0, suspect, worse, invalid, refused];

/** Returns the worst exit code of several runs. An unknown code, such as that of a crash, is the worst; no run is refused. */
export function worstExitCode(codes: number[]): number {
  const rank = (code: number) => (FROM_BEST_TO_WORST.includes(code) ? FROM_BEST_TO_WORST.indexOf(code) : Infinity);
  const [first = refused, ...others] = codes;
  return others.reduce((worst, code) => (rank(code) > rank(worst) ? code : worst), first);
}
