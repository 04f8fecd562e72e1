/**
 * The ledger: for every broadcast, which connections were expected to receive it, which did, and after what time.
 *
 * A broadcast's row holds one number per connection: the time since the row's first receipt plus one microsecond, with
 * zero meaning "no receipt". The array is both bitmap and stopwatch, a receipt costs one store, and percentiles of a row
 * are exact. The send time comes with the `freeze` command, converted to our own clock, which can differ from the
 * sender's.
 */
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/histogram.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link.ts';

interface Row {
  worker: string;
  firstAtUs: number;
  /** Indexed by slot. */
  sinceFirstUs: Uint32Array;
  duplicates: number;
  reordered: number;
}

const NEVER = Number.POSITIVE_INFINITY;

export class Ledger {
  /** Receipts of all broadcasts, repeats included. */
  received = 0;
  /** First copies of a broadcast at a connection. */
  reached = 0;
  duplicates = 0;
  /** Receipts after the broadcast's row was finalized. */
  late = 0;
  /** Receipts that seem to precede the send: the estimated offset of the sender's clock is wrong. */
  early = 0;
  readonly #rows = new Map<number, Row>();
  readonly #frozen = new Set<number>();
  /** Room → slot → when the join's acknowledgement arrived. */
  readonly #joinedAtUs = new Map<string, Map<number, number>>();
  readonly #leftAtUs = new Map<number, number>();
  readonly #workers = new Map<number, string>();
  /** Slot → highest sequence number received. */
  #highestSeq: Uint32Array = new Uint32Array(64);
  #slots = 0;
  // Each broadcast reaches many connections in a row, so the last row is nearly always the next one as well.
  #lastSeq = -1;
  #lastRow: Row | undefined;

  /** The connection is a member of the room from now on. */
  joined(slot: number, room: string, worker: string, atUs: number): void {
    let members = this.#joinedAtUs.get(room);
    if (!members) {
      members = new Map();
      this.#joinedAtUs.set(room, members);
    }
    if (!members.has(slot)) members.set(slot, atUs);
    this.#workers.set(slot, worker);
    this.#slots = Math.max(this.#slots, slot + 1);
  }

  /** The connection has ended; it stays in the rows of the broadcasts sent before. */
  left(slot: number, atUs: number): void {
    if (this.#workers.has(slot)) this.#leftAtUs.set(slot, atUs);
  }

  receive(slot: number, seq: number, worker: string, receivedAtUs: number): void {
    this.received++;
    let row = this.#lastRow;
    if (seq !== this.#lastSeq || row === undefined) {
      if (this.#frozen.has(seq)) {
        this.late++;
        return;
      }
      row = this.#rowOf(seq, worker, receivedAtUs);
    }
    if (slot >= row.sinceFirstUs.length) row.sinceFirstUs = grown(row.sinceFirstUs, slot + 1);
    if (row.sinceFirstUs[slot] !== 0) {
      row.duplicates++;
      this.duplicates++;
      return;
    }
    this.reached++;
    if (slot >= this.#highestSeq.length) this.#highestSeq = grown(this.#highestSeq, slot + 1);
    if (seq < (this.#highestSeq[slot] as number)) row.reordered++;
    else this.#highestSeq[slot] = seq;
    row.sinceFirstUs[slot] = Math.max(0, receivedAtUs - row.firstAtUs) + 1;
  }

  /** Finalizes a broadcast's row: from here on its receipts count as late. */
  freeze(order: FreezeOrder): Omit<FrozenBroadcast, 'process'> {
    const row = this.#rows.get(order.seq);
    this.#rows.delete(order.seq);
    this.#frozen.add(order.seq);
    if (this.#lastSeq === order.seq) {
      this.#lastSeq = -1;
      this.#lastRow = undefined;
    }
    const sinceFirstUs = row?.sinceFirstUs ?? new Uint32Array(0);
    const local = createHistogram();
    const cross = createHistogram();
    const counts = { expected: 0, received: 0, lostConnected: 0, lostDisconnected: 0, unexpected: 0 };
    // Latency counts from the intended send time, unless the worker sent early: that must not shorten it.
    const firstLatencyUs = (row?.firstAtUs ?? 0) - Math.min(order.sentAtUs, order.intendedAtUs);
    let firstUs = NEVER;
    let lastUs = 0;
    let receipts = 0;
    for (const stored of sinceFirstUs) if (stored !== 0) receipts++;
    for (const [slot, joinedAtUs] of this.#joinedAtUs.get(order.room) ?? []) {
      const leftAtUs = this.#leftAtUs.get(slot) ?? NEVER;
      if (joinedAtUs >= order.sentAtUs || leftAtUs < order.sentAtUs) continue;
      counts.expected++;
      const stored = sinceFirstUs[slot] ?? 0;
      if (stored === 0) {
        if (leftAtUs === NEVER) counts.lostConnected++;
        else counts.lostDisconnected++;
        continue;
      }
      counts.received++;
      const latencyUs = firstLatencyUs + stored - 1;
      if (latencyUs < 0) this.early++;
      const us = Math.max(0, latencyUs);
      if (us < firstUs) firstUs = us;
      if (us > lastUs) lastUs = us;
      recordUs(this.#workers.get(slot) === row?.worker ? local : cross, us);
    }
    counts.unexpected = receipts - counts.received;
    return {
      seq: order.seq,
      ...counts,
      duplicates: row?.duplicates ?? 0,
      reordered: row?.reordered ?? 0,
      latencyUs: { local: encodeHistogram(local), cross: encodeHistogram(cross) },
      firstUs: counts.received > 0 ? firstUs : 0,
      lastUs,
    };
  }

  #rowOf(seq: number, worker: string, firstAtUs: number): Row {
    let row = this.#rows.get(seq);
    if (!row) {
      const sinceFirstUs = new Uint32Array(Math.max(this.#slots, 64));
      row = { worker, firstAtUs, sinceFirstUs, duplicates: 0, reordered: 0 };
      this.#rows.set(seq, row);
    }
    this.#lastSeq = seq;
    this.#lastRow = row;
    return row;
  }
}

function grown(values: Uint32Array, slots: number): Uint32Array {
  const larger = new Uint32Array(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}
