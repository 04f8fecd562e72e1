/** An event of the server's own, counted in place of the contract's broadcasts. */
import type { LatencyFrom } from '../../../protocol/result/latency-schema.ts';
import type { Holding } from '../../samplers/index.ts';
import type { Rows } from '../broadcasts/rows.ts';
import type { Acknowledged, ReceivedByPublisher, Unacknowledged } from '../receivers/publishers.ts';

export interface OwnEventMeasured {
  event: string;
  idPath: string;
  publisher: 'run' | 'server';
  /** The publishers' ids come back. */
  givesIds: boolean;
  latencyFrom: LatencyFrom;
  /** Why the time in the payload is not used; undefined if it is, or if no option names it. */
  sentAtUnusable: string | undefined;
  /** Connections that publish. */
  publishers?: number;
  /** Emitted by the run. */
  published: number;
  /** Ids of the run's broadcasts that arrived. */
  seen: number;
  /** Mean length of a copy's JSON. */
  bytes: number;
  /** Broadcasts that found the ledgers full, among `seen`. */
  skipped: number;
  /** Whose payload has no usable time, although latency counts from those of others. */
  untimed: number;
  /** What no row tells, as rows may stand for several broadcasts; undefined until they are finalized. */
  each: Rows['each'] | undefined;
  /** A copy without an id. */
  example: string | undefined;
  /** The first different acknowledgements that publishers received. */
  acknowledged?: Acknowledged[];
  /** Of their acknowledgements, those that carry an error, by its words. */
  ackErrors?: Record<string, number>;
  /** Published messages without an acknowledgement at the end of the drain. */
  unacknowledged?: Unacknowledged;
  /** Other events that the run's own client received while it waited for this one before the load. */
  others?: string[];
  /** What the publishers received then, after they had published. */
  toPublisher?: ReceivedByPublisher[];
  /** Where copies are missing: processes of this machine that hold the connections, if all can be seen. */
  holdings?: (Holding & { command: string })[] | undefined;
  /** Where copies have further ids, which are not counted. */
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
