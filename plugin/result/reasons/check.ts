/** One line of the verdict's table: a code, and what has to be the case for it. */
import type { ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';

export type Measured = Omit<Result, 'verdict'>;

export interface Detail {
  /** Numbers and names; what they mean is in the catalogue. */
  message: string;
  /** In the place of the catalogue's remedy, where more is known. */
  fix?: string;
}

/** A message alone, where the catalogue's remedy is all that is known. */
export type Found = string | Detail | undefined;

export interface Check {
  code: ReasonCode;
  find(result: Measured, measurements: Measurements): Detail[];
}

/** @returns nothing if all is well */
type Find = (result: Measured, measurements: Measurements) => Found | Found[];

export function check(code: ReasonCode, find: Find): Check {
  return checkUnless(undefined, code, find);
}

/** @param end of which it would say what it caused: any that is early, or that by a user */
export function checkUnless(end: 'abort' | 'stop' | undefined, code: ReasonCode, find: Find): Check {
  return {
    code,
    find: (result, measurements) => {
      const { aborted, stoppedByUser } = measurements;
      if ((end === 'abort' && aborted) || (end === 'stop' && stoppedByUser)) return [];
      const found = [find(result, measurements)].flat();
      return found.flatMap((one) => (typeof one === 'string' ? { message: one } : (one ?? [])));
    },
  };
}
