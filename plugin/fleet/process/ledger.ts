/**
 * The ledger: for every broadcast, which connections were expected to receive it, which did, and after what time.
 *
 * A broadcast's row holds one number per connection: the time since the row's first receipt plus one microsecond, with
 * zero meaning "no receipt". The array is both bitmap and stopwatch, a receipt costs one store, and percentiles of a row
 * are exact. The send time comes with the `freeze` command, converted to our own clock, which can differ from the
 * sender's.
 */
import { createHistogram, encodeHistogram, recordUs } from '../../../protocol/histogram.ts';
import type { FreezeOrder, FrozenBroadcast, ReceiptTotals } from '../../../protocol/link.ts';
import type { BroadcastCopy } from '../client.ts';
import type { BroadcastPlan } from '../messages.ts';

interface Row {
  worker: string;
  firstAtUs: number;
  /** Indexed by slot. */
  sinceFirstUs: Uint32Array;
  /** Copies of all kinds. */
  copies: number;
  duplicates: number;
  reordered: number;
  wrongSize: number;
  wrongContent: number;
  /** Of the payload of the first whole copy. */
  checksum: number;
}

interface Absence {
  fromUs: number;
  untilUs: number;
}

/** A row is memory: without a plan, numbers up to here may have one. */
const UNPLANNED: BroadcastPlan = { count: 10_000, bytes: undefined };
/** Of a broadcast, one copy in so many is compared with the process's first one, by checksum. */
export const CONTENT_CHECK_EVERY = 64;
const NO_CHECKSUM = -1;
const NEVER = Number.POSITIVE_INFINITY;

export class Ledger {
  /** Copies of all broadcasts, of every kind. */
  received = 0;
  /** First copies of a broadcast at a connection. */
  reached = 0;
  #duplicates = 0;
  #late = 0;
  #neverOrdered = 0;
  #unreadable = 0;
  readonly #plan: BroadcastPlan;
  readonly #rows = new Map<number, Row>();
  readonly #frozen = new Set<number>();
  /** Room → slot → when the join's acknowledgement arrived. */
  readonly #joinedAtUs = new Map<string, Map<number, number>>();
  readonly #leftAtUs = new Map<number, number>();
  /** Slot → when the connection was away, and the server kept its session. */
  readonly #absences = new Map<number, Absence[]>();
  readonly #workers = new Map<number, string>();
  /** Slot → highest sequence number received. */
  #highestSeq: Uint32Array = new Uint32Array(64);
  /** Slot → joins that the server has not answered. */
  #joining: Uint8Array = new Uint8Array(64);
  #slots = 0;
  // Each broadcast reaches many connections in a row, so the last row is nearly always the next one as well.
  #lastSeq = -1;
  #lastRow: Row | undefined;

  /** @param plan the run's broadcasts: what has another number or size is none of them */
  constructor(plan: BroadcastPlan = UNPLANNED) {
    this.#plan = plan;
  }

  /** Without broadcasts, nobody asks for connections that have left. */
  get remembers(): boolean {
    return this.#plan.count > 0;
  }

  /** Connections that a row has room for. */
  get slots(): number {
    return this.#slots;
  }

  /** @returns first copies of a broadcast whose row is open */
  reachedBy(seq: number): number {
    const row = this.#rows.get(seq);
    return row ? row.copies - row.duplicates - row.wrongSize - row.wrongContent : 0;
  }

  totals(): ReceiptTotals {
    let open = 0;
    for (const { copies } of this.#rows.values()) open += copies;
    return {
      received: this.received,
      duplicates: this.#duplicates,
      late: this.#late,
      unreadable: this.#unreadable,
      neverOrdered: this.#neverOrdered,
      open,
    };
  }

  /** A join is under way; the server's answer to it is reported by `answered`. */
  joining(slot: number): void {
    if (slot >= this.#joining.length) this.#joining = grown(this.#joining, slot + 1);
    (this.#joining[slot] as number)++;
  }

  answered(slot: number): void {
    (this.#joining[slot] as number)--;
  }

  /** The connection is a member of the room from now on. @param worker `''` if the server has not named it */
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
    // An attempt to come back that fails ends nothing.
    if (this.#workers.has(slot) && !this.#leftAtUs.has(slot)) this.#leftAtUs.set(slot, atUs);
  }

  /**
   * The server has restored the session of a connection that had ended: it was a member all the time, and has got what was
   * sent again.
   * @returns whether it is a member
   */
  recovered(slot: number, atUs: number): boolean {
    const fromUs = this.#leftAtUs.get(slot);
    if (fromUs === undefined) return this.#workers.has(slot);
    this.#leftAtUs.delete(slot);
    const before = this.#absences.get(slot) ?? [];
    this.#absences.set(slot, [...before, { fromUs, untilUs: atUs }]);
    return true;
  }

  /** As if the connection had never been: its slot is free for another one. */
  forget(slot: number): void {
    for (const members of this.#joinedAtUs.values()) members.delete(slot);
    this.#workers.delete(slot);
    this.#leftAtUs.delete(slot);
    this.#absences.delete(slot);
    if (slot < this.#joining.length) this.#joining[slot] = 0;
  }

  /** A copy of a broadcast whose payload cannot be read. */
  receiveUnreadable(): void {
    this.#unreadable++;
  }

  /** A copy of a broadcast that has been finalized. */
  receiveLate(): void {
    this.received++;
    this.#late++;
  }

  /** A copy of a broadcast, which counts in one column. @param copy its payload, where that is to be checked */
  receive(slot: number, seq: number, worker: string, receivedAtUs: number, copy?: BroadcastCopy): void {
    this.received++;
    let row = this.#lastRow;
    if (seq !== this.#lastSeq || row === undefined) {
      if (this.#frozen.has(seq)) {
        this.#late++;
        return;
      }
      if (!(Number.isInteger(seq) && seq >= 1 && seq <= this.#plan.count)) {
        this.#neverOrdered++;
        return;
      }
      row = this.#rowOf(seq, worker, receivedAtUs);
    }
    row.copies++;
    if (copy !== undefined && !this.#isWhole(copy, row)) return;
    if (slot >= row.sinceFirstUs.length) row.sinceFirstUs = grown(row.sinceFirstUs, slot + 1);
    if (row.sinceFirstUs[slot] !== 0) {
      row.duplicates++;
      this.#duplicates++;
      return;
    }
    this.reached++;
    if (slot >= this.#highestSeq.length) this.#highestSeq = grown(this.#highestSeq, slot + 1);
    if (seq < (this.#highestSeq[slot] as number)) row.reordered++;
    else this.#highestSeq[slot] = seq;
    row.sinceFirstUs[slot] = Math.max(0, receivedAtUs - row.firstAtUs) + 1;
  }

  #isWhole(copy: BroadcastCopy, row: Row): boolean {
    const { bytes, contentVaries } = this.#plan;
    if (bytes !== undefined && !copy.hasSize(bytes)) {
      row.wrongSize++;
      return false;
    }
    if (contentVaries) return true;
    if (row.checksum === NO_CHECKSUM) row.checksum = copy.checksum();
    else if (row.copies % CONTENT_CHECK_EVERY === 0 && copy.checksum() !== row.checksum) {
      row.wrongContent++;
      return false;
    }
    return true;
  }

  /** Finalizes a broadcast's row: from here on its receipts count as late. */
  freeze(order: FreezeOrder): Omit<FrozenBroadcast, 'process'> {
    this.#frozen.add(order.seq);
    return this.finalize(order);
  }

  /** Like `freeze`, and forgets the number: its owner reports later receipts by `receiveLate`. */
  finalize(order: FreezeOrder): Omit<FrozenBroadcast, 'process'> {
    const row = this.#take(order.seq);
    const isTimed = order.latencyFromAtUs !== null;
    const sinceFirstUs = row?.sinceFirstUs ?? new Uint32Array(0);
    const local = createHistogram();
    const cross = createHistogram();
    const members = this.#joinedAtUs.get(order.room);
    const counts = { expected: 0, received: 0, lostConnected: 0, lostDisconnected: 0, unexpected: 0, notMember: 0 };
    let missed = 0;
    let resent = 0;
    let receivers = 0;
    // Latency counts from the intended send time, unless the worker sent early: that must not shorten it.
    const fromUs = order.latencyFromAtUs ?? Math.min(order.sentAtUs, order.intendedAtUs);
    const firstLatencyUs = (row?.firstAtUs ?? 0) - fromUs;
    let firstUs = NEVER;
    let lastUs = 0;
    let receipts = 0;
    let early = 0;
    let earlyByUs = 0;
    let isUnplaced = false;
    const aheadUs = order.sentAtUs - (row?.firstAtUs ?? NEVER);
    for (let slot = 0; slot < sinceFirstUs.length; slot++) {
      const stored = sinceFirstUs[slot] as number;
      if (stored === 0) continue;
      receipts++;
      if (!members?.has(slot) && !this.#joining[slot]) counts.notMember++;
      const byUs = aheadUs - stored + 1;
      if (byUs <= 0) continue;
      early++;
      earlyByUs = Math.max(earlyByUs, byUs);
    }
    for (const [slot, joinedAtUs] of members ?? []) {
      const leftAtUs = this.#leftAtUs.get(slot) ?? NEVER;
      if (joinedAtUs >= order.sentAtUs || leftAtUs < order.sentAtUs) continue;
      counts.expected++;
      const stored = sinceFirstUs[slot] ?? 0;
      const absences = this.#absences.get(slot);
      if (absences !== undefined) {
        const receivedAtUs = stored === 0 ? undefined : (row?.firstAtUs ?? 0) + stored - 1;
        if (keptAway(absences, order.sentAtUs, receivedAtUs)) {
          missed++;
          if (stored > 0) resent++;
          else {
            counts.lostDisconnected++;
            continue;
          }
        }
      }
      if (stored === 0) {
        // A later broadcast that arrived shows that this one was lost before the connection ended.
        if (leftAtUs === NEVER || (this.#highestSeq[slot] ?? 0) > order.seq) counts.lostConnected++;
        else counts.lostDisconnected++;
        continue;
      }
      counts.received++;
      receivers = (receivers + mixed(slot)) >>> 0;
      const us = Math.max(0, firstLatencyUs + stored - 1);
      if (!isTimed) continue;
      if (us < firstUs) firstUs = us;
      if (us > lastUs) lastUs = us;
      const worker = this.#workers.get(slot);
      const isLocal = worker === row?.worker;
      if (!isLocal && (worker === '' || row?.worker === '')) isUnplaced = true;
      recordUs(isLocal ? local : cross, us);
    }
    counts.unexpected = receipts - counts.received - counts.notMember;
    return {
      seq: order.seq,
      ...counts,
      duplicates: row?.duplicates ?? 0,
      reordered: row?.reordered ?? 0,
      wrongSize: row?.wrongSize ?? 0,
      wrongContent: row?.wrongContent ?? 0,
      early,
      earlyByUs,
      missed,
      resent,
      receivers,
      latencyUs: { local: encodeHistogram(local), cross: encodeHistogram(cross) },
      firstUs: firstUs === NEVER ? 0 : firstUs,
      lastUs,
      ...(isTimed ? {} : { untimed: true as const }),
      ...(isUnplaced && { unplaced: true as const }),
    };
  }

  /** The broadcast is none of the run's: its copies so far count as never ordered. */
  discard(seq: number): void {
    this.#neverOrdered += this.#take(seq)?.copies ?? 0;
  }

  #take(seq: number): Row | undefined {
    const row = this.#rows.get(seq);
    this.#rows.delete(seq);
    if (this.#lastSeq === seq) {
      this.#lastSeq = -1;
      this.#lastRow = undefined;
    }
    return row;
  }

  #rowOf(seq: number, worker: string, firstAtUs: number): Row {
    let row = this.#rows.get(seq);
    if (!row) {
      const sinceFirstUs = new Uint32Array(Math.max(this.#slots, 64));
      row = {
        worker,
        firstAtUs,
        sinceFirstUs,
        copies: 0,
        duplicates: 0,
        reordered: 0,
        wrongSize: 0,
        wrongContent: 0,
        checksum: NO_CHECKSUM,
      };
      this.#rows.set(seq, row);
    }
    this.#lastSeq = seq;
    this.#lastRow = row;
    return row;
  }
}

/**
 * Whether an absence kept the copy away: it came with the return, or was sent while the connection was away and never came.
 * @param receivedAtUs undefined if it never came
 */
function keptAway(absences: Absence[], sentAtUs: number, receivedAtUs: number | undefined): boolean {
  const atUs = receivedAtUs ?? sentAtUs;
  return absences.some(({ fromUs, untilUs }) => fromUs <= atUs && atUs <= untilUs);
}

/** Sums of these differ for different sets of slots (the finalizer of MurmurHash3). */
function mixed(slot: number): number {
  const first = Math.imul((slot + 1) ^ ((slot + 1) >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
}

function grown<A extends Uint32Array | Uint8Array>(values: A, slots: number): A {
  const larger = new (values.constructor as new (length: number) => A)(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}
