/** A check: the code of a finding, and the condition under which a run has this finding. */
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';

/** The figures of a run, without findings, verdict and outcome. */
export type RunFigures = Omit<Result, 'answer' | 'outcome' | 'verdict' | 'findings'>;

/** Message, values and other fields of a finding. They override the same fields in the catalogue of findings. */
export type FindingDetail = Pick<Finding, 'message'> &
  Partial<Pick<Finding, 'about' | 'invalidates' | 'subject' | 'window' | 'values' | 'fix'>>;

/**
 * Result of a check that found a problem. A message alone is enough if the fix in the catalogue of findings applies.
 */
export type CheckFinding = string | FindingDetail | undefined;

export type CodedFindingDetail = FindingDetail & { code: FindingCode };

export interface FindingCheck {
  code: FindingCode;
  find(result: RunFigures, measurements: Measurements): FindingDetail[];
}

/** Searches for a problem. Returns undefined or an empty list if there is none. */
type Find = (result: RunFigures, measurements: Measurements) => CheckFinding | CheckFinding[];

export function defineCheck(code: FindingCode, find: Find): FindingCheck {
  return defineCheckUnless(undefined, code, find);
}

/**
 * Returns a check that some runs skip.
 * @param end which runs skip the check, because the end of the run would itself cause the finding: runs that ended
 * early (`abort`) or that a user stopped (`stop`)
 */
export function defineCheckUnless(end: 'abort' | 'stop' | undefined, code: FindingCode, find: Find): FindingCheck {
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
