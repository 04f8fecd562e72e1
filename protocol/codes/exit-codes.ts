/** Exit codes of a run and of `npx socketio-capacity`. Artillery's own exit code 11 means that a worker crashed. */
export const EXIT_CODES = {
  /** A threshold of Artillery's `ensure` or of a baseline was missed. */
  worse: 1,
  /** Settings, machine or target do not permit the run. Nothing was measured. */
  refused: 2,
  /** The run measured figures, but they are doubtful. */
  suspect: 3,
  /** The run measured figures, but they cannot be trusted. */
  invalid: 4,
} as const;

/** Exit codes of `artillery run`, for the reference documentation. Precedence: INVALID, missed threshold, SUSPECT. */
export const RUN_EXIT_CODES: Record<number, string> = {
  0: 'passed: every threshold is met, and the measurement is VALID',
  1: 'failed: an expectation or threshold is missed, or the server itself refused all clients; without the plugin, the engine could not start, or all virtual users failed',
  2: 'refused, and nothing measured: settings or machine do not allow the run, or the target is not reachable (a proxy’s 502 or 504) or not Socket.IO (404)',
  3: 'SUSPECT: the figures are there, with reasons to doubt them',
  4: 'INVALID: the figures cannot be trusted, or the run failed half-way',
  11: 'an Artillery worker crashed',
  130: 'stopped by Ctrl-C: the result has what was measured until then',
};

/** Exit code of a command that was stopped with Ctrl-C. */
export const STOPPED_EXIT_CODE = 130;

/** Exit code of `stack status` if no stack is running. */
export const STACK_DOWN_EXIT_CODE = 3;

/** Exit code of `compare` and `study` if the result is inconclusive. */
const INCONCLUSIVE = 5;

/** Reason for a missing result: refused before the load, stopped by the user, or ended without a result. */
type NoResult = 'refused' | 'stopped' | 'failed';

/** Outcome of a run, a comparison or a search. */
export type CommandOutcome =
  | NoResult
  | { verdict: 'VALID' | 'SUSPECT' | 'INVALID'; outcome: 'PASSED' | 'FAILED' | 'UNKNOWN' }
  | { answer: 'better' | 'no-difference' | 'worse' | 'inconclusive' }
  | { search: keyof typeof SEARCH_EXIT_CODES };

const { worse, refused, suspect, invalid } = EXIT_CODES;

const NO_RESULT_EXIT_CODES: Record<NoResult, number> = { refused, stopped: STOPPED_EXIT_CODE, failed: invalid };

const RESULT_EXIT_CODES = {
  VALID: { PASSED: 0, FAILED: worse, UNKNOWN: invalid },
  SUSPECT: { PASSED: suspect, FAILED: worse, UNKNOWN: invalid },
  INVALID: { PASSED: invalid, FAILED: invalid, UNKNOWN: invalid },
};

const ANSWER_EXIT_CODES = { better: 0, 'no-difference': 0, worse, inconclusive: INCONCLUSIVE };

/** Exit codes of searches. If the last run of a search has no result, the exit code of that run is used instead. */
const SEARCH_EXIT_CODES = {
  found: 0,
  highest: 0,
  none: worse,
  recovery: worse,
  doctor: suspect,
  generator: suspect,
  machine: suspect,
  measurement: suspect,
};

/** Returns the exit code for an outcome. It is 0 only if a measurement shows success. */
export function exitCodeOfOutcome(ended: CommandOutcome): number {
  if (typeof ended === 'string') return NO_RESULT_EXIT_CODES[ended];
  if ('answer' in ended) return ANSWER_EXIT_CODES[ended.answer];
  return 'search' in ended ? SEARCH_EXIT_CODES[ended.search] : RESULT_EXIT_CODES[ended.verdict][ended.outcome];
}

const FROM_BEST_TO_WORST: number[] = [0, suspect, worse, invalid, refused];

/**
 * Returns the worst exit code of several runs. An unknown exit code, such as the exit code of a crash, is the worst. If
 * there are no runs, returns the exit code of a refused run.
 */
export function worstExitCode(codes: number[]): number {
  const rank = (code: number) => (FROM_BEST_TO_WORST.includes(code) ? FROM_BEST_TO_WORST.indexOf(code) : Infinity);
  const [first = refused, ...others] = codes;
  return others.reduce((worst, code) => (rank(code) > rank(worst) ? code : worst), first);
}
