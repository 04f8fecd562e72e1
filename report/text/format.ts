/**
 * Formats numbers with units and thousands separators. Rounding never makes the measured server look better. KB = 1,024
 * bytes.
 */
import { oneLine } from '../../protocol/base/printable.ts';

export const KB = 1024;
export const MB = 1024 * 1024;
/** Largest rounding error of sums and differences of floating-point numbers. */
const ROUNDING_ERROR = 1e-9;

export function integerText(value: number): string {
  return decimalsText(value, 0);
}

export function decimalsText(value: number, digits: number): string {
  return formatWith(digits).format(value);
}

/** Number formats by digits. `toLocaleString` would create a format at each call, which takes 100 times as long. */
const formats: Intl.NumberFormat[] = [];

function formatWith(digits: number): Intl.NumberFormat {
  formats[digits] ??= new Intl.NumberFormat('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    // No -0.0.
    signDisplay: 'negative',
  });
  return formats[digits];
}

/**
 * Formats counts and shares. A value that would be rounded to zero gets more digits. Measured values are not precise
 * enough for this.
 */
export function exactDecimalsText(value: number, digits: number): string {
  const size = Math.abs(value);
  const isHidden = size >= ROUNDING_ERROR && size < 0.5 * 10 ** -digits;
  return decimalsText(value, isHidden ? Math.ceil(-Math.log10(size) - ROUNDING_ERROR) : digits);
}

export function kilobytesText(bytes: number): string {
  return decimalsText(bytes / KB, 1);
}

/** Formats bytes with their unit. Values below 1 KB are shown in B, so that they do not look like zero. */
export function sizeText(bytes: number): string {
  return Math.abs(bytes) < KB ? `${decimalsText(bytes, 0)} B` : `${kilobytesText(bytes)} KB`;
}

export function megabytesText(bytes: number): string {
  return decimalsText(bytes / MB, 1);
}

/** Formats milliseconds with at least three significant digits. */
export function millisecondsText(ms: number): string {
  const digits = ms === 0 || ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
  return decimalsText(ms, digits);
}

/** Formats a number; a missing value is a dash. */
export function textOrDash(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

/**
 * Formats a share in percent, rounded down, so that `100 %` always means everything: 9,999,999 of 10,000,000 are 99.99
 * %. `0.00 %` always means nothing.
 */
export function percentOf(part: number, whole: number): string {
  if (whole === 0) return '–';
  if (part === whole) return '100 %';
  const percent = (100 * part) / whole;
  return `${exactDecimalsText(percent < 0.01 ? percent : Math.floor(100 * percent) / 100, 2)} %`;
}

/** Returns a count with its noun, such as `1 connection` or `2 connections`. */
export function countText(count: number, noun: string): string {
  return `${integerText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns a duration such as `75 seconds` or `2 minutes`. */
export function durationText(seconds: number): string {
  return seconds < 90 ? countText(Math.round(seconds), 'second') : countText(Math.round(seconds / 60), 'minute');
}

/**
 * Wraps text at spaces, but not before a percent sign. The first line keeps its own indent; the following lines begin
 * with `indent`. Escapes control characters that could harm a terminal.
 */
export function wrapText(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  const shown = oneLine(text);
  const body = shown.trimStart();
  let line = shown.slice(0, shown.length - body.length);
  for (const [index, part] of body.split(/ (?!%)/).entries()) {
    if (index > 0 && line.length + 1 + part.length > width) {
      lines.push(line);
      line = indent + part;
    } else {
      line += index === 0 ? part : ` ${part}`;
    }
  }
  return [...lines, line];
}

/** Converts camel case to words: returns `worker file descriptors` for `workerFileDescriptors`. */
export function spacedWords(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Returns counts by name, the most frequent first: `ECONNREFUSED 3, http_502 1`. */
export function countsBreakdown(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${cause} ${integerText(count)}`)
    .join(', ');
}

export function totalOfCounts(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Adds a full stop to a text, and a capital letter unless the text begins with the name of a metric. */
export function asSentence(text: string): string {
  const whole = /^\w+[._]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/**
 * Maximum size of a difference that is shown in percent, as a share of the reference. Above it, the reference is close
 * to zero.
 */
const MAX_SHARE = 2;

/**
 * Returns whether differences are shown in percent of the reference. Otherwise they are shown in their own unit.
 * @param differences differences and margins, in the unit of the reference
 */
export function isShownInPercent(reference: number, ...differences: number[]): boolean {
  return reference !== 0 && differences.every((one) => Math.abs(one) <= MAX_SHARE * Math.abs(reference));
}

/** Formats a change as `9 %` or `2 times as much`. */
export function changeText(share: number): string {
  return share < 1 ? `${exactDecimalsText(100 * share, 0)} %` : `${decimalsText(1 + share, 0)} times as much`;
}
