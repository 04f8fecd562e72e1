/** A check: a code, and the condition under which a run reports it. */
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';

/** The figures of a run, before anything is concluded from them. */
export type Measured = Omit<Result, 'answer' | 'outcome' | 'verdict' | 'findings'>;

/** Message, numbers and names of a finding. Each key replaces that of the catalogue. */
export type Detail = Pick<Finding, 'message'> &
  Partial<Pick<Finding, 'about' | 'invalidates' | 'subject' | 'window' | 'values' | 'fix'>>;

/** A message alone, if the catalogue's fix applies unchanged. */
export type Found = string | Detail | undefined;

export type CodedDetail = Detail & { code: FindingCode };

export interface Check {
  code: FindingCode;
  find(result: Measured, measurements: Measurements): Detail[];
}

/** Returns undefined or an empty list if there is no problem. */
type Find = (result: Measured, measurements: Measurements) => Found | Found[];

export function check(code: FindingCode, find: Find): Check {
  return checkUnless(undefined, code, find);
}

/**
 * @param end skips the check for a run that ended early (`abort`) or that a user stopped (`stop`), as the end itself would cause the
 * finding
 */
export function checkUnless(end: 'abort' | 'stop' | undefined, code: FindingCode, find: Find): Check {
  return {
    code,
    find: (result, measurements) => {
      const { aborted, stoppedByUser } = measurements;
      if ((end === 'abort' && aborted) || (end === 'stop' && stoppedByUser)) return [];
      const found = [find(result, measurements)].flat();
      return found.flatMap((detail) => (typeof detail === 'string' ? { message: detail } : (detail ?? [])));
    },
  };
}
