/**
 * Ledger of a fleet process. For every broadcast, it records the connections that were expected to receive it, the
 * connections that received it, and when.
 *
 * The row of a broadcast has one number for each connection: microseconds since the row's first receipt, plus one; 0
 * for no receipt. Recording a receipt writes a single number, and percentiles are exact. The send time arrives later,
 * with the command to finalize the row, already converted to the local clock.
 */
import type { FreezeRequest, FrozenBroadcast, ReceiptTotals } from '../../../../protocol/link/ledger-messages.ts';
import type { EventCopy } from '../../client/client.ts';
import type { BroadcastPlan } from '../../fleet-messages.ts';
import { type BroadcastRow, finalBroadcastAccount } from './broadcast-account.ts';
import { growArray, MemberLosses, RoomMembers } from './members.ts';

/**
 * Plan of a ledger without a given plan. It limits the numbers of broadcasts, because each number may take the memory
 * of a row.
 */
const UNPLANNED: BroadcastPlan = { count: 10_000, bytes: undefined };
/**
 * Interval at which the payloads of copies are checked: every 64th copy is compared with the first copy that the
 * process received.
 */
export const CONTENT_CHECK_EVERY = 64;
const NO_CHECKSUM = -1;

export class Ledger {
  readonly members = new RoomMembers();
  /** Number of all received copies, including duplicates and late copies. */
  received = 0;
  /** Number of first copies: further copies of a broadcast on the same connection are not counted. */
  reached = 0;
  #duplicates = 0;
  #late = 0;
  #unknownBroadcast = 0;
  #unreadable = 0;
  readonly #plan: BroadcastPlan;
  readonly #losses = new MemberLosses();
  readonly #rows = new Map<number, BroadcastRow>();
  readonly #frozen = new Set<number>();
  /** Highest received sequence number by slot, the connection's index in the ledger. */
  #highestSeq: Uint32Array = new Uint32Array(64);
  // Number of the broadcast whose row was last used. The row is cached, because each broadcast reaches many connections
  // one after the other.
  #lastSeq = -1;
  #lastRow: BroadcastRow | undefined;

  /**
   * Creates an empty ledger.
   * @param plan broadcasts of the run; copies with other numbers or payload sizes are counted separately
   */
  constructor(plan: BroadcastPlan = UNPLANNED) {
    this.#plan = plan;
  }

  /** Whether the ledger needs the members of rooms. */
  get remembers(): boolean {
    return this.#plan.count > 0;
  }

  /** Returns the number of connections that have received the broadcast, while its row is open. */
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
      unknownBroadcast: this.#unknownBroadcast,
      open,
      losses: this.#losses.totals(),
    };
  }

  /** Counts a copy without a readable id. */
  receiveUnreadable(): void {
    this.#unreadable++;
  }

  /** Counts a copy of a broadcast that is already final. */
  receiveLate(): void {
    this.received++;
    this.#late++;
  }

  /**
   * Counts a received copy of a broadcast in exactly one column.
   * @param copy the copy, if its payload must be checked
   */
  receive(slot: number, seq: number, receivedAtUs: number, copy?: EventCopy): void {
    this.received++;
    let row = this.#lastRow;
    if (seq !== this.#lastSeq || row === undefined) {
      if (this.#frozen.has(seq)) {
        this.#late++;
        return;
      }
      if (!(Number.isInteger(seq) && seq >= 1 && seq <= this.#plan.count)) {
        this.#unknownBroadcast++;
        return;
      }
      row = this.#rowOf(seq, receivedAtUs);
    }
    row.copies++;
    if (copy !== undefined && !this.#isWhole(copy, row)) return;
    if (slot >= row.sinceFirstUs.length) row.sinceFirstUs = growArray(row.sinceFirstUs, slot + 1);
    if (row.sinceFirstUs[slot] !== 0) {
      row.duplicates++;
      this.#duplicates++;
      return;
    }
    this.reached++;
    if (slot >= this.#highestSeq.length) this.#highestSeq = growArray(this.#highestSeq, slot + 1);
    if (seq < (this.#highestSeq[slot] as number)) row.reordered++;
    else this.#highestSeq[slot] = seq;
    row.sinceFirstUs[slot] = Math.max(0, receivedAtUs - row.firstAtUs) + 1;
  }

  #isWhole(copy: EventCopy, row: BroadcastRow): boolean {
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

  /** Finalizes a broadcast and returns its final counts. Later receipts count as late. */
  freeze(order: FreezeRequest): Omit<FrozenBroadcast, 'process'> {
    this.#frozen.add(order.seq);
    return this.finalize(order);
  }

  /**
   * Finalizes a broadcast like `freeze`, and also forgets its number. The caller must report later receipts with
   * `receiveLate`.
   */
  finalize(order: FreezeRequest): Omit<FrozenBroadcast, 'process'> {
    return finalBroadcastAccount(order, this.#take(order.seq), this.members, this.#highestSeq, this.#losses);
  }

  /** Discards a broadcast that is not part of the run. Its copies count as never requested. */
  discard(seq: number): void {
    this.#unknownBroadcast += this.#take(seq)?.copies ?? 0;
  }

  #take(seq: number): BroadcastRow | undefined {
    const row = this.#rows.get(seq);
    this.#rows.delete(seq);
    if (this.#lastSeq === seq) {
      this.#lastSeq = -1;
      this.#lastRow = undefined;
    }
    return row;
  }

  #rowOf(seq: number, firstAtUs: number): BroadcastRow {
    let row = this.#rows.get(seq);
    if (!row) {
      const sinceFirstUs = new Uint32Array(Math.max(this.members.slots, 64));
      row = {
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
