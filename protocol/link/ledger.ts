/** The ledger of broadcasts: what the run asks of it, and what each fleet process has in it. */
import type { InstantUs } from '../clock/instants.ts';

/** Frames that carry the broadcast event, of the whole run. The columns of single broadcasts are in `FrozenBroadcast`. */
export interface ReceiptTotals {
  /** All whose payload can be read: of every column but `unreadable`. */
  received: number;
  duplicates: number;
  /** After the broadcast's row was finalized. */
  late: number;
  unreadable: number;
  /** With a number that the run never sends. */
  neverOrdered: number;
  /** Of broadcasts whose rows are not finalized: once the run has finalized its own, nobody ordered these. */
  open: number;
}

/** Request to finalize the ledger of one broadcast: `sentAtUs` determines who was to receive it. */
export interface FreezeOrder {
  seq: number;
  room: string;
  sentAtUs: InstantUs;
  /** When it should have been sent. Latency counts from here, so that a late publisher cannot hide a queue. */
  intendedAtUs: InstantUs;
  /** When the run ordered it: the server counts the members between this and the send. */
  orderedAtUs?: InstantUs;
  /** When the run ordered the one before, or began. Who had left by then, the server has noticed when it counts for this one. */
  previousAtUs?: InstantUs;
  /** Of an own event: the broadcast's id, as `seq` is only the run's. */
  id?: string;
  /** In place of `intendedAtUs` and `sentAtUs`: latency counts from here; null if nobody knows from when. */
  latencyFromAtUs?: InstantUs | null;
}

/** In place of a room: the receivers of an own event. */
export const AUDIENCE = '';

/** One fleet process's ledger row for one broadcast. `expected = received + lostConnected + lostDisconnected`. */
export interface FrozenBroadcast {
  /** Number of the process within its engine's fleet. */
  process: number;
  seq: number;
  expected: number;
  received: number;
  lostConnected: number;
  lostDisconnected: number;
  /** Receipts beyond the first by the same connection. */
  duplicates: number;
  /** First receipts by a connection that had a later broadcast already. */
  reordered: number;
  /** Receipts by connections whose join was under way at the send. */
  unexpected: number;
  /** First receipts by connections that never asked to join the room. */
  notMember: number;
  /** Copies whose payload has another length than the configured one; they are no receipts. */
  wrongSize: number;
  /** Likewise, whose payload has other characters, among those that were compared. */
  wrongContent: number;
  /** First receipts before `sentAtUs`; part of `received`, `unexpected` and `notMember`. */
  early: number;
  /** By how much the earliest of these came before the send; 0 without any. */
  earlyByUs: number;
  /** Of the expected: members whose copy an absence kept away, and whose session the server restored. */
  missed: number;
  /** Of these, how many got it when they came back; part of `received`. */
  resent: number;
  /** Received or lost while connected, by members that joined or came back between `orderedAtUs` and the send. */
  justJoined: number;
  /** Members that left between `previousAtUs` and the send; they are not expected. */
  justLeft: number;
  /** Checksum of which connections of this process received it: two broadcasts with the same one went to the same. */
  receivers: number;
  /**
   * HDR histograms of receipt − intendedAtUs in microseconds, by where the receiver's worker stands to the publisher's.
   */
  latencyUs: { local: string; cross: string };
  /** Latency of the first and of the last receiver. */
  firstUs: number;
  lastUs: number;
  /** Of a host that is gone: `expected` is the most that it can have been. */
  assumed?: true;
  /** Nobody knows when it was sent: there are no latencies. */
  untimed?: true;
  /** Nobody knows the worker of some receivers, or of the publisher: `local` and `cross` are right only together. */
  unplaced?: true;
}
