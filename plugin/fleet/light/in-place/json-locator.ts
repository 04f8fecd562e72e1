/**
 * Finds the value at a path in JSON without parsing it. It is called for every copy of the counted event, so it
 * allocates nothing and stops at the value.
 */
import type { JsonPath } from '../../../../protocol/base/json-path.ts';
import { isSameBytes } from '../socket-io/packet-head.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
/** Length up to which the bytes of a string are compared one by one. For longer strings, native search is faster. */
const SHORT_BYTES = 32;

interface Step {
  /** The path's step as the bytes of a key, without quotes. */
  key: Uint8Array;
  /** The path's step as a list index; -1 if the step can only be a key. */
  index: number;
}

export class JsonLocator {
  /** Start of the value that was found last, which is `bytes[start, end)`. */
  start = 0;
  end = 0;
  /** Whether the last search found no value. False if a key with escapes may hide the value. */
  isMissing = false;
  readonly #steps: Step[];

  constructor(path: JsonPath) {
    this.#steps = path.map((step) => ({ key: Buffer.from(step), index: /^\d+$/.test(step) ? Number(step) : -1 }));
  }

  /**
   * Finds the value in JSON.
   * @param at start of the JSON
   * @returns false if there is no value, or if a key with escapes may hide it
   */
  find(bytes: Buffer, at: number, end: number): boolean {
    this.isMissing = false;
    let value = skipSpace(bytes, at, end);
    for (const step of this.#steps) {
      value =
        bytes[value] === OPEN_BRACE ? member(bytes, value, end, step.key) : element(bytes, value, end, step.index);
      if (value < 0) {
        this.isMissing = value === NONE;
        return false;
      }
    }
    this.start = value;
    this.end = skipValue(bytes, value, end);
    return this.end > this.start;
  }
}

const NONE = -1;
const UNSURE = -2;

/**
 * Returns the start of a key's value. Returns NONE if the key is missing, or UNSURE if it may be a key with escapes.
 */
function member(bytes: Buffer, open: number, end: number, key: Uint8Array): number {
  let hasEscapes = false;
  let at = skipSpace(bytes, open + 1, end);
  while (at < end && bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return -1;
    const isMatch = isSameBytes(bytes, at + 1, keyEnd - 1, key);
    for (let letter = at; letter < keyEnd && !isMatch; letter++) if (bytes[letter] === BACKSLASH) hasEscapes = true;
    at = skipSpace(bytes, keyEnd, end);
    if (at >= end || bytes[at] !== COLON) return -1;
    at = skipSpace(bytes, at + 1, end);
    if (isMatch) return at < end ? at : UNSURE;
    at = next(bytes, at, end);
  }
  return hasEscapes ? UNSURE : NONE;
}

/** Returns the start of a list element; -1 if there is none. */
function element(bytes: Buffer, open: number, end: number, index: number): number {
  if (index < 0 || open >= end || bytes[open] !== OPEN_BRACKET) return -1;
  let at = skipSpace(bytes, open + 1, end);
  for (let skipped = 0; skipped < index; skipped++) {
    at = next(bytes, at, end);
    if (at < 0) return -1;
  }
  return at < end && bytes[at] !== CLOSE_BRACKET ? at : -1;
}

/** Returns the start of the next value or key after `value`; -1 if there is none. */
function next(bytes: Buffer, value: number, end: number): number {
  const valueEnd = skipValue(bytes, value, end);
  if (valueEnd < 0) return -1;
  const comma = skipSpace(bytes, valueEnd, end);
  return comma < end && bytes[comma] === COMMA ? skipSpace(bytes, comma + 1, end) : -1;
}

/** Returns the end of a value; -1 if it is incomplete. */
function skipValue(bytes: Buffer, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = skipString(bytes, at, end);
      if (at < 0) return -1;
      if (depth === 0) return at;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
      at++;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth--;
      at++;
      if (depth === 0) return at;
    } else if (depth === 0 && (byte === COMMA || byte <= SPACE)) return at;
    else at++;
  }
  return -1;
}

/** Returns the position after the closing quote of a string; -1 if there is none. */
function skipString(bytes: Buffer, open: number, end: number): number {
  let at = open + 1;
  const near = Math.min(end, at + SHORT_BYTES);
  for (; at < near; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  while (at < end) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0 || quote >= end) return -1;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
    at = quote + 1;
    if ((quote - escapes) % 2 === 0) return at;
  }
  return -1;
}

function skipSpace(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) <= SPACE) at++;
  return at;
}
