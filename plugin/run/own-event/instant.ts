/** Times as servers write them into their messages: seconds, milliseconds or microseconds since 1970, or ISO 8601. */

export interface Instant {
  epochUs: number;
  /** What the notation can tell apart. */
  resolutionUs: number;
}

/** By magnitude; from 2001 to 5138. */
const UNITS = [
  { from: 1e9, toUs: 1e6 },
  { from: 1e12, toUs: 1e3 },
  { from: 1e15, toUs: 1 },
  { from: 1e18, toUs: 1e-3 },
];
const ISO_SECONDS = /T\d\d:\d\d(?::\d\d(?:[.,](\d+))?)?/;

/** @returns undefined if it is no time since the Unix epoch, such as that of a monotonic clock */
export function instantOf(value: unknown): Instant | undefined {
  if (typeof value === 'number') return fromNumber(value, Number.isInteger(value));
  if (typeof value !== 'string') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return fromNumber(Number(value), !value.includes('.'));
  return fromIso(value);
}

function fromNumber(value: number, isWhole: boolean): Instant | undefined {
  const unit = UNITS.find(({ from }) => value >= from && value < from * 100);
  return unit && { epochUs: value * unit.toUs, resolutionUs: isWhole ? Math.max(1, unit.toUs) : 1 };
}

function fromIso(text: string): Instant | undefined {
  const time = ISO_SECONDS.exec(text);
  const epochMs = Date.parse(text);
  if (!time || Number.isNaN(epochMs)) return undefined;
  const fraction = time[1];
  if (fraction === undefined) return { epochUs: epochMs * 1000, resolutionUs: 1e6 };
  // A Date has whole milliseconds.
  const belowMsUs = Number(fraction.padEnd(6, '0').slice(3, 6));
  return { epochUs: epochMs * 1000 + belowMsUs, resolutionUs: Math.max(1, 10 ** (6 - fraction.length)) };
}
