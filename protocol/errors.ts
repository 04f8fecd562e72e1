import type { ErrorCode } from './error-codes.ts';

/** An error a user reads: a stable code to look up, the cause, and the line that fixes it. */
export class CapacityError extends Error {
  readonly code: ErrorCode;
  /** What to do about it: one line, a command where there is one. */
  readonly fix: string;

  constructor(code: ErrorCode, message: string, fix: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CapacityError';
    this.code = code;
    this.fix = fix;
  }
}

/** @returns the error as a user reads it: `CODE: what happened` and, indented below, the way out */
export function describeError(error: unknown): string {
  if (!(error instanceof CapacityError)) return error instanceof Error ? error.message : String(error);
  const cause = error.cause instanceof Error ? `\n  cause: ${error.cause.message}` : '';
  return `${error.code}: ${error.message}${cause}\n  fix: ${error.fix}`;
}
