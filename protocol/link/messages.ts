/**
 * The messages between a run and its engines (one per Artillery worker thread). Plugin and engines have no other
 * connection during a run, not even on Ctrl-C. Only sums are sent: ledger rows and encoded histograms, never single
 * messages. A `Carrier` transports them.
 */
import type { InstantUs } from '../clock/instants.ts';
import type { ErrorCode } from '../codes/error-codes.ts';
import type { MessageCounts, MessageStage } from './client-messages.ts';
import type { FaultOrder } from './fault.ts';
import type { FreezeOrder, FrozenBroadcast } from './ledger.ts';
import type { Sightings } from './sightings.ts';
import type { FleetSnapshot } from './snapshot.ts';
import type { FleetStatus } from './status.ts';

/** Identifies the engine that reports, and its host. Processes of its fleet are numbered within it. */
export interface EngineIdentity {
  /** Same as `Host.kernel`. */
  host: string;
  /** Artillery's id of the worker. */
  engine: string;
}

/** Held connections can leave in so many parts, about equally large, one after the other. */
export const RELEASE_PARTS = 4;

/** Run to all engines. */
export type RunMessage =
  /** The target is up and the baseline is taken: arrivals may begin; on several hosts, all at that time. */
  | { type: 'start'; atUs?: InstantUs }
  | { type: 'warm-up'; requestId: number; order: WarmUpOrder }
  | { type: 'snapshot'; requestId: number }
  | { type: 'freeze'; requestId: number; broadcasts: FreezeOrder[] }
  /** What was seen of an own event so far; whether ids that appear from now on are counted; and which are none of the run's. */
  | { type: 'sight'; requestId: number; watch: boolean; outside: string[] }
  /** How the messages that connections send again and again go on; and how many there were. */
  | { type: 'messages'; requestId: number; stage: MessageStage }
  /** A planned fault begins, or its consequences are over. */
  | { type: 'fault'; requestId: number; order: FaultOrder }
  /** Held connections leave now, staggered: all, or those of the first parts. */
  | { type: 'release'; parts?: number }
  /** The residual is measured: held virtual users can end. */
  | { type: 'finish' }
  /** The run is over (also after Ctrl-C): close everything and reply. */
  | { type: 'close'; requestId: number };

/** Engine to run. */
export type EngineMessage = { from: EngineIdentity } & EngineReport;

export type EngineReport =
  /** `engines`: how many there will be on this host, of which this is one. */
  | { type: 'ready'; engines: number }
  /** Arrivals count from then on; on several hosts, that is when the run had them start. */
  | { type: 'began'; beganAtUs: InstantUs }
  | { type: 'status'; status: FleetStatus }
  /** All short connections have left; `failure` is the message of the first that failed. */
  | { type: 'warmed'; requestId: number; failure: string | undefined }
  | { type: 'snapshot'; requestId: number; snapshot: FleetSnapshot }
  | { type: 'frozen'; requestId: number; rows: FrozenBroadcast[] }
  | { type: 'sighted'; requestId: number; sightings: Sightings[] }
  | { type: 'messages'; requestId: number; counts: MessageCounts }
  | { type: 'faulted'; requestId: number }
  | { type: 'closed'; requestId: number }
  /** Its host is gone: nothing that it had not reported comes any more. */
  | { type: 'gone' }
  | { type: 'failed'; code: ErrorCode; message: string; fix: string };

/** Short connections before the load, for each engine; no later count includes them. */
export interface WarmUpOrder {
  connections: number;
  /** How many at the same time. */
  together: number;
  /** Undefined where the server need not know `join_room`. */
  room: string | undefined;
}
