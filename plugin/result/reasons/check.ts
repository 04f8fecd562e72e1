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

export interface Check {
  code: ReasonCode;
  /** Runs of which it would say what their end caused: any that ended early, or those that a user stopped. */
  notAfter?: 'abort' | 'stop';
  /** @returns nothing if all is well */
  find(result: Measured, measurements: Measurements): Detail | Detail[] | undefined;
}
