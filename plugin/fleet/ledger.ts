/**
 * The ledger: for every broadcast, who was to get it, who did, how late, and who did not.
 *
 * A page per broadcast holds one number per connection: the time since the page's first receipt plus one microsecond,
 * zero meaning "no receipt". So the same array is bitmap and stopwatch, a receipt costs one store, and percentiles of a
 * page are exact. When it was sent comes with the order to close the page, on our clock: the sender's may be another.
 */
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/histogram.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link.ts';

interface Page {
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
  duplicates = 0;
  /** Receipts after the broadcast's page was closed. */
  late = 0;
  /** Receipts that came before they were sent: the sender's clock is not what it is taken for. */
  early = 0;
  readonly #pages = new Map<number, Page>();
  readonly #frozen = new Set<number>();
  /** Room → slot → when the join's acknowledgement arrived. */
  readonly #joinedAtUs = new Map<string, Map<number, number>>();
  readonly #leftAtUs = new Map<number, number>();
  readonly #workers = new Map<number, string>();
  /** Slot → highest sequence number received. */
  #highestSeq: Uint32Array = new Uint32Array(64);
  #slots = 0;
  // Broadcasts reach a whole process one after the other: the last page is nearly always the next one, too.
  #lastSeq = -1;
  #lastPage: Page | undefined;

  /** A room's member from now on. */
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

  /** The connection has ended; it stays in the books of the broadcasts sent before. */
  left(slot: number, atUs: number): void {
    if (this.#workers.has(slot)) this.#leftAtUs.set(slot, atUs);
  }

  receive(slot: number, seq: number, worker: string, receivedAtUs: number): void {
    this.received++;
    let page = this.#lastPage;
    if (seq !== this.#lastSeq || page === undefined) {
      if (this.#frozen.has(seq)) {
        this.late++;
        return;
      }
      page = this.#page(seq, worker, receivedAtUs);
    }
    if (slot >= page.sinceFirstUs.length) page.sinceFirstUs = grown(page.sinceFirstUs, slot + 1);
    if (page.sinceFirstUs[slot] !== 0) {
      page.duplicates++;
      this.duplicates++;
      return;
    }
    if (slot >= this.#highestSeq.length) this.#highestSeq = grown(this.#highestSeq, slot + 1);
    if (seq < (this.#highestSeq[slot] as number)) page.reordered++;
    else this.#highestSeq[slot] = seq;
    page.sinceFirstUs[slot] = Math.max(0, receivedAtUs - page.firstAtUs) + 1;
  }

  /** Closes a broadcast's page: from here on its receipts count as late. */
  freeze(order: FreezeOrder): Omit<FrozenBroadcast, 'process'> {
    const page = this.#pages.get(order.seq);
    this.#pages.delete(order.seq);
    this.#frozen.add(order.seq);
    if (this.#lastSeq === order.seq) {
      this.#lastSeq = -1;
      this.#lastPage = undefined;
    }
    const sinceFirstUs = page?.sinceFirstUs ?? new Uint32Array(0);
    const local = createHistogram();
    const cross = createHistogram();
    const row = { expected: 0, received: 0, lostConnected: 0, lostDisconnected: 0, unexpected: 0 };
    // Latency counts from the intended time on; a worker that was told a little early is not the quicker for it.
    const firstLatencyUs = (page?.firstAtUs ?? 0) - Math.min(order.sentAtUs, order.intendedAtUs);
    let firstUs = NEVER;
    let lastUs = 0;
    let receipts = 0;
    for (const stored of sinceFirstUs) if (stored !== 0) receipts++;
    for (const [slot, joinedAtUs] of this.#joinedAtUs.get(order.room) ?? []) {
      const leftAtUs = this.#leftAtUs.get(slot) ?? NEVER;
      if (joinedAtUs >= order.sentAtUs || leftAtUs < order.sentAtUs) continue;
      row.expected++;
      const stored = sinceFirstUs[slot] ?? 0;
      if (stored === 0) {
        if (leftAtUs === NEVER) row.lostConnected++;
        else row.lostDisconnected++;
        continue;
      }
      row.received++;
      const latencyUs = firstLatencyUs + stored - 1;
      if (latencyUs < 0) this.early++;
      const us = Math.max(0, latencyUs);
      if (us < firstUs) firstUs = us;
      if (us > lastUs) lastUs = us;
      recordUs(this.#workers.get(slot) === page?.worker ? local : cross, us);
    }
    row.unexpected = receipts - row.received;
    return {
      seq: order.seq,
      ...row,
      duplicates: page?.duplicates ?? 0,
      reordered: page?.reordered ?? 0,
      latencyUs: { local: encodeHistogram(local), cross: encodeHistogram(cross) },
      firstUs: row.received > 0 ? firstUs : 0,
      lastUs,
    };
  }

  #page(seq: number, worker: string, firstAtUs: number): Page {
    let page = this.#pages.get(seq);
    if (!page) {
      const sinceFirstUs = new Uint32Array(Math.max(this.#slots, 64));
      page = { worker, firstAtUs, sinceFirstUs, duplicates: 0, reordered: 0 };
      this.#pages.set(seq, page);
    }
    this.#lastSeq = seq;
    this.#lastPage = page;
    return page;
  }
}

function grown(values: Uint32Array, slots: number): Uint32Array {
  const larger = new Uint32Array(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}
