import type { FindingValue } from '../../../protocol/result/findings.ts';

/** Figures that are physically impossible, with the reason and the suggested fix. */
export interface Violation {
  /** Ids of memory figures, such as `workerRss`; for CPU, ids of layers; else the key in the result. */
  figures: string[];
  /** Describes the reported figure and its value. */
  message: string;
  values: FindingValue[];
  fix: string;
}
