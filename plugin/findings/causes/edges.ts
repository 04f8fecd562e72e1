/** Edges of the causal graph, and edges that several causes share. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Batch } from '../../../protocol/result/delivery-schema.ts';
import type { Finding } from '../../../protocol/result/findings.ts';
import { total } from '../../../report/text/format.ts';
import { areMostMissing, type Counts, onlyOnLostConnections } from '../evidence.ts';

export interface Evidence extends Counts {
  cause: Finding;
  effect: Finding;
}

export interface Edge {
  effects: readonly FindingCode[];
  /** Condition beside the order in time. */
  holds?(evidence: Evidence): boolean;
}

/** Edges from each cause. */
export type Causes = Partial<Record<FindingCode, readonly Edge[]>>;

/** Findings about copies that the same connections miss each time. */
export const APART = ['AUDIENCE_DIFFERS', 'ADAPTER_MISSING', 'ADAPTER_INTERRUPTED'] as const satisfies FindingCode[];

export const LOST_WITH_CONNECTIONS: Edge = {
  effects: ['COPIES_LOST'],
  holds: onlyOnLostConnections,
};

/** Without connections, nothing can be received or measured. */
export const OF_NO_CONNECTION: Edge = {
  effects: ['NOBODY_JOINED', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
  holds: ({ result: { connections } }) => connections.peak === 0 || total(connections.lost) >= connections.opened,
};

export const UNANSWERED_ON_LOST: Edge = {
  effects: ['MESSAGES_UNACKNOWLEDGED'],
  holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
};

/** @returns the edge of a cause that is found by the copies that are missing @param rows broadcasts in which it is */
export function ofMissing(rows: (counts: Counts, batches: Batch[]) => Batch[]): Edge {
  return {
    effects: ['COPIES_LOST'],
    holds: (counts) => areMostMissing(rows(counts, counts.result.delivery?.batches ?? []), counts),
  };
}

export const OF_NONE_RECEIVED = ofMissing((_, batches) => batches.filter((batch) => batch.received === 0));
