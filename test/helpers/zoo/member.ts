/** A member of the zoo: a server that lies or fails in one way, and what a run has to say about it. */

import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { COLUMNS } from '../foots.ts';
import type { InProcessRun } from '../in-process-run.ts';
import type { Habits, ZooServer } from './server.ts';

export interface Member {
  /** As in "a server that …". */
  name: string;
  /** Called once for each server. Default: an honest one. */
  habits?: () => Habits;
  /** Changes of the scenario's `config`, of the plugin's options, and of the room that the virtual users join. */
  config?: object;
  options?: object;
  /** In place of control ports, so that there are no broadcasts: the option `workers`. */
  workers?: (zoo: ZooServer) => object;
  room?: string;
  /** Of the virtual users, in turn. */
  variables?: Record<string, unknown>[];
  /** A step of the flow, before the `hold`. */
  step?: object;
  /** What happens while the run lasts. */
  during?: (run: InProcessRun, zoo: ZooServer) => Promise<void>;
  /** All reasons of the verdict; none: the run is VALID. */
  reasons: FindingCode[];
  /** Figures of `connections` that differ from those of an honest server. */
  connections?: Partial<Result['connections']>;
  /** Counts of `delivery` that differ from zero, or from all copies of an honest server; null if the run ends before its broadcasts. */
  delivery?: Partial<Counts> | null;
  /** Further figures of the result. */
  check?: (result: Result) => void;
}

/** The other counts. */
const MARKS = ['expected', 'lostConnected', 'lostDisconnected', 'reordered', 'early', 'frames'] as const;

export const COUNTS = [...COLUMNS, ...MARKS];
type Counts = Record<(typeof COUNTS)[number], number>;

export const CONNECTIONS = 20;
export const BROADCASTS = 3;
/** Expected, received, and frames, where nothing is wrong. */
export const COPIES = CONNECTIONS * BROADCASTS;
