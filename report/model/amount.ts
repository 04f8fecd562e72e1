/**
 * An amount in a report: a number with its unit, interval and notes. All formats of a report use this file to format
 * amounts.
 */
import type { Amount, QuantityName } from '../../protocol/result/figure.ts';
import type { Interval } from '../../protocol/result/shared-schemas.ts';

export type { Amount, QuantityName } from '../../protocol/result/figure.ts';

import {
  decimalsText,
  exactDecimalsText,
  integerText,
  isShownInPercent,
  kilobytesText,
  megabytesText,
  millisecondsText,
  percentOf,
  sizeText,
} from '../text/format.ts';

interface Quantity {
  /** Unit after the number; empty if there is none or if the text already includes it. */
  unit: string;
  /** Returns the number as text, without its unit. */
  text(value: number): string;
}

/** Quantities with their units and precision. Memory is in bytes. */
const QUANTITIES = {
  count: { unit: '', text: (value) => (Number.isInteger(value) ? integerText(value) : exactDecimalsText(value, 1)) },
  kilobytes: { unit: 'KB', text: kilobytesText },
  megabytes: { unit: 'MB', text: megabytesText },
  /** Bytes of any size, shown in B, KB, MB or GB. */
  size: { unit: '', text: sizeText },
  bytes: { unit: 'bytes', text: (bytes) => decimalsText(bytes, Number.isInteger(bytes) ? 0 : 1) },
  milliseconds: { unit: 'ms', text: millisecondsText },
  seconds: { unit: 's', text: (seconds) => decimalsText(seconds, seconds < 10 ? 2 : 1) },
  cpuSeconds: { unit: 's', text: (seconds) => decimalsText(seconds, 3) },
  microseconds: { unit: 'µs', text: (value) => decimalsText(value, value < 1 ? 2 : 1) },
  percent: { unit: '%', text: (value) => decimalsText(value, 1) },
  perSecond: { unit: '/s', text: (value) => exactDecimalsText(value, 1) },
  /** Share from 0 to 1, shown in percent and rounded down, so that 100 % always means everything. */
  share: { unit: '%', text: (value) => percentOf(value, 1).replace(' %', '') },
} satisfies Record<QuantityName, Quantity>;

/** Returns an amount. A missing value is shown with a text that it was not measured. */
export function amount(quantity: QuantityName, value: number | null | undefined, interval?: Interval): Amount {
  return { quantity, value: value ?? null, ...(interval && { interval }) };
}

/** Returns the share of a part in a whole as an amount; unknown if the whole is 0. */
export function shareAmount(part: number, whole: number): Amount {
  return amount('share', whole === 0 ? null : part / whole);
}

export function quantityOf(name: QuantityName): Quantity {
  return QUANTITIES[name];
}

/** Returns the number as text, without its unit. */
export function numberText(name: QuantityName, value: number): string {
  return QUANTITIES[name].text(value);
}

/** Returns the number with its unit, such as `12.1 KB`. */
export function withUnit(name: QuantityName, value: number): string {
  const { unit } = QUANTITIES[name];
  return `${numberText(name, value)}${unit === '' || unit.startsWith('/') ? unit : ` ${unit}`}`;
}

/**
 * Returns a text such as `12.1 KB ± 4 %`, `at least 12.1 KB` or `too few connections to tell, between 0.0 and 137.0 KB
 * (95 %); 2,000 would tell`, or why the value is unknown.
 */
export function amountText({ quantity, value, interval, isAtLeast, why, next }: Amount): string {
  if (value !== null)
    return `${isAtLeast ? 'at least ' : ''}${withUnit(quantity, value)}${margin(quantity, value, interval)}`;
  const range =
    interval && `between ${numberText(quantity, interval.low95)} and ${withUnit(quantity, interval.high95)} (95 %)`;
  const known = [why, range].filter(Boolean).join(', ') || 'not measured';
  return next === undefined ? known : `${known}; ${next}`;
}

/** Returns the parts of `amountText` separately: `between 0.0 and 137.0 KB (95 %)`, and the reason. */
export function amountParts(what: Amount): [figure: string, reason: string] {
  if (what.value !== null || !what.interval) return [amountText(what), ''];
  const { why, next, ...bare } = what;
  return [amountText(bare), [why, next].filter(Boolean).join('; ')];
}

/**
 * Returns a text for a table cell, such as `12.1 ± 4 %`, `≥ 12.1`, `0.0 to 137.0`, or a dash.
 * @param bare leaves out the unit, because the title of the column contains it
 */
export function cellText({ quantity, value, interval, isAtLeast }: Amount, bare: boolean): string {
  const text = bare ? numberText : withUnit;
  if (value !== null) return `${isAtLeast ? '≥ ' : ''}${text(quantity, value)}${margin(quantity, value, interval)}`;
  if (!interval) return '–';
  const [low, high] = [numberText(quantity, interval.low95), numberText(quantity, interval.high95)];
  return low === high ? text(quantity, interval.high95) : `${low} to ${text(quantity, interval.high95)}`;
}

/**
 * Returns the margin of a value, such as `± 4 %`: the distance to the upper end of its interval. The margin is in
 * percent of the value, or in the unit if the value is near zero.
 */
function margin(name: QuantityName, value: number, interval: Interval | undefined): string {
  if (!interval) return '';
  const above = interval.high95 - value;
  if (!isShownInPercent(value, above)) return above === 0 ? '' : ` ± ${withUnit(name, above)}`;
  const percent = (100 * above) / Math.abs(value);
  return ` ± ${percent < 0.95 ? exactDecimalsText(percent, 1) : integerText(percent)} %`;
}

/** Returns the margin of an amount, such as `± 4 %`; empty if its interval is unknown. */
export function marginText({ quantity, value, interval }: Amount): string {
  return value === null ? '' : margin(quantity, value, interval).trim();
}
