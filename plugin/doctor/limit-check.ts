/** One limit of a machine or of a deployment. */
import type { LimitName } from './checks.ts';

export interface LimitCheck {
  name: LimitName;
  fits: (connections: number) => boolean;
  /** @returns how to raise the limit to that many, as a command where possible */
  raise: (connections: number) => string;
}
