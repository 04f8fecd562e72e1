/** Decides when a difference is shown in percent. */
import { decimals, exactDecimals } from './format.ts';

/** Share of the reference above which the reference is too near zero for a percentage. */
const MAX_SHARE = 2;

/**
 * Returns whether to show the differences in percent of the reference; otherwise in their own unit.
 * @param differences differences and margins, in the reference's unit
 */
export function isRelative(reference: number, ...differences: number[]): boolean {
  return reference !== 0 && differences.every((one) => Math.abs(one) <= MAX_SHARE * Math.abs(reference));
}

/** Returns a change as a share of its reference: `9 %`, or `2 times as much`. */
export function shareText(share: number): string {
  return share < 1 ? `${exactDecimals(100 * share, 0)} %` : `${decimals(1 + share, 0)} times as much`;
}
