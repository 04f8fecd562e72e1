/** Measurements of the server's own event, which is counted in place of the contract's broadcasts. */
import type { LatencyFrom } from '../../../protocol/result/latency-schema.ts';
import type { Holding } from '../../samplers/index.ts';
import type { Rows } from '../broadcasts/rows.ts';
import type { Acknowledged, ReceivedByPublisher, Unacknowledged } from '../receivers/publishers.ts';

export interface OwnEventMeasured {
  event: string;
  /** Event whose acknowledgement makes a connection a member (`delivery.join`). */
  join?: string | undefined;
  idPath: string;
  publisher: 'run' | 'server';
  /** The run's publishers choose the ids. */
  givesIds: boolean;
  latencyFrom: LatencyFrom;
  /** Why the time in the payload is not used; undefined if it is, or if none is configured. */
  sentAtUnusable: string | undefined;
  publishers?: number;
  /** Events that the run emitted. */
  published: number;
  /** Ids of the run's broadcasts that arrived. */
  seen: number;
  /** Mean length of a copy's JSON. */
  bytes: number;
  /** Broadcasts among `seen` that found the ledgers full. */
  skipped: number;
  /** Broadcasts without latency because their time is unusable. */
  untimed: number;
  /** Times of single broadcasts, as rows may sum up several; undefined until they are finalized. */
  each: Rows['each'] | undefined;
  /** The first copy without an id. */
  example: string | undefined;
  /** The first distinct acknowledgements that publishers received. */
  acknowledged?: Acknowledged[];
  /** Number of acknowledgements with an error, by its text. */
  ackErrors?: Record<string, number>;
  /** Published messages without an acknowledgement at the end of the drain. */
  unacknowledged?: Unacknowledged;
  /** Other events that arrived in the trial before the load, instead of the configured event. */
  others?: string[];
  /** Events that the publishers received in that trial. */
  toPublisher?: ReceivedByPublisher[];
  /** Processes of this machine that hold the connections. Read if copies are missing; undefined unless all are visible. */
  holdings?: (Holding & { command: string })[] | undefined;
  /** Another path at which copies have ids, which are not counted. */
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
