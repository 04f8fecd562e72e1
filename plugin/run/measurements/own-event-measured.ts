/** Measurements of the server's own event, which the run counts if there is no wire contract. */
import type { LatencyFrom } from '../../../protocol/result/latency-schema.ts';
import type { ConnectionHolding } from '../../samplers/index.ts';
import type { LedgerRows } from '../broadcasts/ledger-rows.ts';
import type { ReceivedAck, ReceivedByPublisher, UnacknowledgedEvent } from '../receivers/publishers.ts';

export interface OwnEventMeasured {
  event: string;
  /** Event whose acknowledgement makes a connection a member (`delivery.join`). */
  join?: string | undefined;
  idPath: string;
  publisher: 'run' | 'server';
  /** Whether the run's publishers choose the ids of the broadcasts. */
  givesIds: boolean;
  latencyFrom: LatencyFrom;
  /** Why the time in the payload is not used. Undefined if it is used, or if no path to a time is configured. */
  sentAtUnusable: string | undefined;
  publishers?: number;
  /** Number of events that the run's publishers emitted. */
  published: number;
  /** Number of broadcasts in this run that arrived in at least one copy. */
  seen: number;
  /** Mean length of a copy's payload as JSON, in characters. */
  bytes: number;
  /** Number of arrived broadcasts that have no ledger row, because the ledgers were full. */
  skipped: number;
  /** Number of broadcasts without a latency, because the send time in their payload is unusable. */
  untimed: number;
  /**
   * Send and completion times of each broadcast. They are kept separately, because a ledger row may sum up several
   * broadcasts. Undefined until the rows are finalized.
   */
  each: LedgerRows['each'] | undefined;
  /** The first copy that had no id, as an example. */
  example: string | undefined;
  /** Examples of the acknowledgements that publishers received. */
  acknowledged?: ReceivedAck[];
  /** Number of acknowledgements that report an error, by the text of the error. */
  ackErrors?: Record<string, number>;
  /** Number of published messages without an acknowledgement at the end of the drain. */
  unacknowledged?: UnacknowledgedEvent;
  /** Events that arrived when the run tested the configured event before the load and it did not arrive. */
  others?: string[];
  /** Events that the publishers received when the run tested the configured event before the load. */
  toPublisher?: ReceivedByPublisher[];
  /**
   * Processes on this machine that hold the connections. Only read if copies are missing. Undefined if the run cannot
   * read all processes.
   */
  holdings?: (ConnectionHolding & { command: string })[] | undefined;
  /** A path in the payload at which copies have ids, other than the configured path. */
  idsBeside?: string | undefined;
}

export function newOwnEvent(
  event: string,
  idPath: string,
  publisher: OwnEventMeasured['publisher'],
  givesIds: boolean,
): OwnEventMeasured {
  const unknown = { sentAtUnusable: undefined, each: undefined, example: undefined };
  const nothing = { published: 0, seen: 0, bytes: 0, skipped: 0, untimed: 0 };
  return { event, idPath, publisher, givesIds, latencyFrom: 'first receipt', ...nothing, ...unknown };
}
