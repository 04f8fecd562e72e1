/** A check: the code of a finding, and the condition under which a run has this finding. */
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';

/** The figures of a run, without findings, verdict and outcome. */
export type Measured = Omit<Result, 'answer' | 'outcome' | 'verdict' | 'findings'>;

/** Message, values and other fields of a finding. They override the fields of the finding catalogue. */
export type Detail = Pick<Finding, 'message'> &
  Partial<Pick<Finding, 'about' | 'invalidates' | 'subject' | 'window' | 'values' | 'fix'>>;

/** A message alone is enough if the fix in the finding catalogue applies. */
export type Found = string | Detail | undefined;

export type CodedDetail = Detail & { code: FindingCode };

export interface Check {
  code: FindingCode;
  find(result: Measured, measurements: Measurements): Detail[];
}

/** Searches for a problem. Returns undefined or an empty list if there is none. */
type Find = (result: Measured, measurements: Measurements) => Found | Found[];

export function check(code: FindingCode, find: Find): Check {
  return checkUnless(undefined, code, find);
}

/**
 * Returns a check that some runs skip.
 * @param end skips the check in a run that ended early (`abort`) or that a user stopped (`stop`), because the end
 * itself would cause the finding
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
