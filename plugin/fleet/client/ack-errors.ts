/**
 * Finds acknowledgements that carry an error instead of a result. An error is recognized by the keys of the
 * acknowledged object.
 */

import { printableLine } from '../../../protocol/base/printable.ts';
import { addToOwnCounter } from '../../../protocol/base/sum-counts.ts';

/**
 * Largest number of distinct errors that are counted under their own text. All further errors are counted together,
 * under an empty text.
 */
const MAX_ERRORS = 20;
const MAX_WORDS_LENGTH = 120;

/** Number of leading bytes of an acknowledgement that are checked for an error. */
const MAX_BYTES = 2000;
const ERROR_KEYS = /^(errors?|err|exception)$/i;
const STATUS_KEYS = /^(status|state|type|result)$/i;
const STATUS = /^(error|err|fail|failed|failure|exception)$/i;
const SUCCESS_KEYS = /^(ok|success|succeeded)$/i;
/** Matches keys of an error object whose values describe the error. */
const WORDS = /^(message|reason|code|name)$/i;
/** Matches the JSON of every acknowledgement that carries an error, and of some acknowledgements without an error. */
const MAY_CARRY = /^\[\s*\{\s*\}|"(errors?|err|exception)"|:\s*(false|"(error|err|fail|failed|failure|exception)")/i;
const OPENING_BRACE = 0x7b;

/**
 * Checks an acknowledgement without parsing it.
 * @param start position in `bytes` at which the JSON of the acknowledgement's arguments begins
 * @returns false if the arguments contain no error
 */
export function mayCarryError(bytes: Buffer, start: number, end: number): boolean {
  return (
    bytes[start + 1] === OPENING_BRACE &&
    MAY_CARRY.test(bytes.toString('latin1', start, Math.min(end, start + MAX_BYTES)))
  );
}

/**
 * Returns the parts of the first argument that mark it as an error: `{"error":"not allowed","code":403}`. Returns `{}`
 * for an empty object, because JSON turns an `Error` into an empty object. Returns undefined for every other argument.
 */
function errorInAck([first]: readonly unknown[]): object | undefined {
  if (typeof first !== 'object' || first === null || Array.isArray(first) || ArrayBuffer.isView(first))
    return undefined;
  const entries = Object.entries(first);
  if (entries.length === 0) return first;
  if (!entries.some(isError)) return undefined;
  return Object.fromEntries(entries.filter((entry) => isError(entry) || WORDS.test(entry[0])));
}

export interface KeepsSecrets {
  secrets(): string[] | undefined;
}

/**
 * Counts an acknowledgement that carries an error, by the text of the error. Ignores other acknowledgements.
 * @param connection connection whose secrets are masked in the text
 */
export function countAckError(
  errors: Record<string, number>,
  args: readonly unknown[],
  connection?: KeepsSecrets,
): void {
  const error = errorInAck(args);
  if (error === undefined) return;
  const words = printableLine(JSON.stringify(error), MAX_WORDS_LENGTH, connection?.secrets());
  const isKnown = Object.hasOwn(errors, words) || Object.keys(errors).length < MAX_ERRORS;
  addToOwnCounter(errors, isKnown ? words : '', 1);
}

function isError([key, value]: [string, unknown]): boolean {
  if (ERROR_KEYS.test(key)) return Boolean(value) && !(Array.isArray(value) && value.length === 0);
  if (SUCCESS_KEYS.test(key)) return value === false;
  return STATUS_KEYS.test(key) && typeof value === 'string' && STATUS.test(value);
}
