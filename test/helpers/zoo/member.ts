/** Member of the zoo: a server with a single fault, and the expected report of a run. */

import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { COLUMNS } from '../foots.ts';
import type { InProcessRun } from '../in-process-run.ts';
import type { Habits, ZooServer } from './server.ts';

export interface Member {
  /** Text that completes "a server that …". */
  name: string;
  /** Returns the faulty behaviour. Called once for each server. Default: no fault. */
  habits?: () => Habits;
  /** Changes of the scenario's `config`, of the plugin's options, and of the room that virtual users join. */
  config?: object;
  options?: object;
  /** Value of the option `workers`. It replaces control ports, so there are no broadcasts. */
  workers?: (zoo: ZooServer) => object;
  room?: string;
  /** Variables of the virtual users, in turn. */
  variables?: Record<string, unknown>[];
  /** Step of the flow before the `hold`. */
  step?: object;
  /** Code of the test that runs during the run. */
  during?: (run: InProcessRun, zoo: ZooServer) => Promise<void>;
  /** Expected findings. If empty, the run is VALID. */
  reasons: FindingCode[];
  /** Expected figures of `connections` that differ from those of a server without fault. */
  connections?: Partial<Result['connections']>;
  /**
   * Expected counts of `delivery` that differ from those of a server without fault. Null if the run ends before its
   * broadcasts.
   */
  delivery?: Partial<Counts> | null;
  /** Checks further figures of the result. */
  check?: (result: Result) => void;
}

/** Counts that are not columns of the ledger. */
const MARKS = ['expected', 'lostConnected', 'lostDisconnected', 'reordered', 'early', 'frames'] as const;

export const COUNTS = [...COLUMNS, ...MARKS];
type Counts = Record<(typeof COUNTS)[number], number>;

export const CONNECTIONS = 20;
export const BROADCASTS = 3;
/** Number of copies that a server without fault sends. */
export const COPIES = CONNECTIONS * BROADCASTS;
