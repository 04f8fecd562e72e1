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
  1: 'failed: a threshold is missed; without the plugin, the engine could not start, or all virtual users failed',
  2: 'refused: settings, machine or target do not allow the run, and nothing was measured',
  3: 'SUSPECT: the figures are there, with reasons to doubt them',
  4: 'INVALID: the figures cannot be trusted, or the run failed half-way',
  11: 'an Artillery worker crashed',
  130: 'stopped by Ctrl-C: the result has what was measured until then',
};

/** Stopped by Ctrl-C. */
export const STOPPED = 130;

/** `stack status`. */
export const NOT_UP = 3;

/** `compare` and `baseline check`: nothing to tell the noise by. */
export const CANNOT_TELL = 5;

const FROM_BEST_TO_WORST: number[] = [0, EXIT_CODES.suspect, EXIT_CODES.worse, EXIT_CODES.invalid, EXIT_CODES.refused];

/** The worst exit code of several runs; an unknown one, such as a crash's, is the worst of all. */
export function worstExitCode(codes: number[]): number {
  const rank = (code: number) => (FROM_BEST_TO_WORST.includes(code) ? FROM_BEST_TO_WORST.indexOf(code) : Infinity);
  return codes.reduce((worst, code) => (rank(code) > rank(worst) ? code : worst), 0);
}
