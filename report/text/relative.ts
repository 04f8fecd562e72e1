/** The one rule for when a difference is given in percent. */
import { decimals, exactDecimals } from './format.ts';

/** Above this share of the reference, the reference is too near zero: the percentage would tell more of it than of the difference. */
const MAX_SHARE = 2;

/**
 * @param differences differences and margins, in the reference's unit
 * @returns whether they are to be shown in percent of the reference; else in their own unit
 */
export function isRelative(reference: number, ...differences: number[]): boolean {
  return reference !== 0 && differences.every((one) => Math.abs(one) <= MAX_SHARE * Math.abs(reference));
}

/** @returns a change as a share of its reference: `9 %`, or `2 times as much` */
export function shareText(share: number): string {
  return share < 1 ? `${exactDecimals(100 * share, 0)} %` : `${decimals(1 + share, 0)} times as much`;
}
