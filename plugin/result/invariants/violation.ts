import type { FindingValue } from '../../../protocol/result/findings.ts';

/** Figures that break a physical invariant. */
export interface Violation {
  /** Ids of memory figures, such as `workerRss`, or ids of layers for CPU. */
  figures: string[];
  /** The reported figure, with its value. */
  message: string;
  /** The numbers of the message. */
  values: FindingValue[];
  fix: string;
}
