/** A member of the zoo: a server with one fault, and what a run must report about it. */

import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { COLUMNS } from '../foots.ts';
import type { InProcessRun } from '../in-process-run.ts';
import type { Habits, ZooServer } from './server.ts';

export interface Member {
  /** Completes "a server that …". */
  name: string;
  /** Called once for each server. Default: a sound server. */
  habits?: () => Habits;
  /** Changes of the scenario's `config`, of the plugin's options, and of the room that the virtual users join. */
  config?: object;
  options?: object;
  /** The option `workers`, instead of control ports, so that there are no broadcasts. */
  workers?: (zoo: ZooServer) => object;
  room?: string;
  /** Variables of the virtual users, in turn. */
  variables?: Record<string, unknown>[];
  /** A step of the flow, before the `hold`. */
  step?: object;
  /** Runs during the run. */
  during?: (run: InProcessRun, zoo: ZooServer) => Promise<void>;
  /** Expected findings; without any, the run is VALID. */
  reasons: FindingCode[];
  /** Figures of `connections` that differ from those of a sound server. */
  connections?: Partial<Result['connections']>;
  /** Counts of `delivery` that differ from those of a sound server; null if the run ends before its broadcasts. */
  delivery?: Partial<Counts> | null;
  /** Checks further figures of the result. */
  check?: (result: Result) => void;
}

/** Counts beside the columns of the ledger. */
const MARKS = ['expected', 'lostConnected', 'lostDisconnected', 'reordered', 'early', 'frames'] as const;

export const COUNTS = [...COLUMNS, ...MARKS];
type Counts = Record<(typeof COUNTS)[number], number>;

export const CONNECTIONS = 20;
export const BROADCASTS = 3;
/** Copies expected, received and framed by a sound server. */
export const COPIES = CONNECTIONS * BROADCASTS;
