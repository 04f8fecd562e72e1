import { escapeEachLine } from '../base/printable.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** Error for users, with a stable code, a cause, and a fix. */
export class CapacityError extends Error {
  readonly code: ErrorCode;
  /** Action that the user can take, in one line, with a command if possible. */
  readonly fix: string;

  /** @param fix suggested fix that replaces the fix in the catalogue of codes */
  constructor(code: ErrorCode, message: string, fix = ERROR_CODES[code].remedy, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CapacityError';
    this.code = code;
    this.fix = fix;
  }
}

/** System error codes that mean that a limit of processes, files or memory was reached. */
const LIMIT_ERRORS = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** Returns an error for the user if a limit prevented a process from starting. Undefined for other errors. */
export function processStartError(error: unknown): CapacityError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', syscall = '', message } = error as NodeJS.ErrnoException;
  if (!syscall.startsWith('spawn') || !LIMIT_ERRORS.has(code)) return undefined;
  return new CapacityError(
    'LIMIT_TOO_LOW',
    `this user cannot start another process on this machine: ${message}`,
    'raise the limit of processes (`ulimit -u`; of a container, `pids.max`), or of open files and memory; or end other processes',
  );
}

/** Formats an error for printing: `CODE: what happened`, then the indented fix. */
export function describeError(error: unknown): string {
  // Removes the quoted text from Node's message about invalid JSON. The text can contain secrets.
  return escapeEachLine(
    textOf(error).replace(/, (\.\.\.)?".*?"(\.\.\.)? is not valid JSON/gs, ', which is not valid JSON'),
  );
}

function textOf(error: unknown): string {
  if (!(error instanceof CapacityError)) return error instanceof Error ? error.message : String(error);
  const why = error.cause instanceof Error ? error.cause.message : '';
  // The cause is left out if the message already contains it.
  const cause = error.message.includes(why) ? '' : `\n  cause: ${why}`;
  return `${error.code}: ${error.message}${cause}\n  fix: ${error.fix}`;
}
