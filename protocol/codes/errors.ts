import { harmless } from '../base/printable.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** An error for users: a stable code to look up, the cause, and the fix. */
export class CapacityError extends Error {
  readonly code: ErrorCode;
  /** What to do about it: one line, with a command if there is one. */
  readonly fix: string;

  /** @param fix if more is known than the catalogue's remedy */
  constructor(code: ErrorCode, message: string, fix = ERROR_CODES[code].remedy, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CapacityError';
    this.code = code;
    this.fix = fix;
  }
}

/** Why `spawn` and its like fail when this user or container may have no more processes, files or memory. */
const NO_MORE = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** @returns what a limit has to do with a process that did not start; undefined if it is no limit */
export function startRefused(error: unknown): CapacityError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', syscall = '', message } = error as NodeJS.ErrnoException;
  if (!syscall.startsWith('spawn') || !NO_MORE.has(code)) return undefined;
  return new CapacityError(
    'LIMIT_TOO_LOW',
    `this machine lets this user start no further process: ${message}`,
    'raise the limit of processes (`ulimit -u`; of a container, `pids.max`), or of open files and memory; or end other processes',
  );
}

/** @returns the error as printed: `CODE: what happened` and, indented below, the fix */
export function describeError(error: unknown): string {
  // Node's message about text that is not JSON quotes some of it.
  return harmless(wordsOf(error).replace(/, (\.\.\.)?".*?"(\.\.\.)? is not valid JSON/gs, ', which is not valid JSON'));
}

function wordsOf(error: unknown): string {
  if (!(error instanceof CapacityError)) return error instanceof Error ? error.message : String(error);
  const why = error.cause instanceof Error ? error.cause.message : '';
  // Often the message has it already.
  const cause = error.message.includes(why) ? '' : `\n  cause: ${why}`;
  return `${error.code}: ${error.message}${cause}\n  fix: ${error.fix}`;
}
