import type { FindingValue } from '../../../protocol/result/findings.ts';

/** A violated physical invariant, with the figures that violate it. */
export interface Violation {
  /** Ids of memory figures, such as `workerRss`; for CPU, ids of layers. */
  figures: string[];
  /** Describes the reported figure and its value. */
  message: string;
  values: FindingValue[];
  fix: string;
}
