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
