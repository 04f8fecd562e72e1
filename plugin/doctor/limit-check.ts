/** One limit of a machine or of a deployment: it holds that many connections for which it has what they need. */
import type { LimitName } from './checks.ts';

export interface LimitCheck {
  name: LimitName;
  needs: (connections: number) => number;
  /** Plans grow with the connections. */
  has: (connections: number) => number;
  /** @returns how to raise it to what so many connections need, as a command where possible */
  raise: (needed: number, connections: number) => string;
}
