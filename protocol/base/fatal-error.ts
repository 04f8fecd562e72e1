/** Passes the error that ended a run to the program that started the run. The program chooses a file for the error. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../codes/error-codes.ts';
import { CapacityError, describeError } from '../codes/errors.ts';
import { escapeEachLine } from './printable.ts';
import { tryOrUndefined } from './try-or-undefined.ts';

/** Environment variable with the path of the error file. */
export const ERROR_FILE_VARIABLE = 'CAPACITY_ERROR_FILE';

const MAX_LENGTH = 10_000;
const text = z.string().max(MAX_LENGTH);
const errorSchema = z.object({ code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode]), message: text, fix: text });

/** Prints an error that ends the run, and passes it to the parent program. Never throws. */
export function reportFatalError(error: unknown): void {
  console.error(`\n${describeError(error)}\n`);
  passErrorToParent(error);
}

/** Writes the error to the parent program's file, if there is one. Never throws. */
export function passErrorToParent(error: unknown): void {
  const file = process.env[ERROR_FILE_VARIABLE];
  if (!file || !(error instanceof CapacityError)) return;
  const [message, fix] = [error.message, error.fix].map((text) => escapeEachLine(text).slice(0, MAX_LENGTH));
  // The flag `wx` fails if the file exists. The first error, which is the cause, is kept.
  tryOrUndefined(() => writeFileSync(file, JSON.stringify({ code: error.code, message, fix }), { flag: 'wx' }));
}

/**
 * Reads the error that a child program wrote to its error file, and removes the file.
 * @returns undefined without a valid error
 */
export function takeChildError(file: string): CapacityError | undefined {
  const found = tryOrUndefined(() => errorSchema.parse(JSON.parse(readFileSync(file, 'utf8'))));
  rmSync(file, { force: true });
  return found && new CapacityError(found.code, found.message, found.fix);
}
