/** Records when connections joined and left rooms, and counts the broadcasts that each connection lost. */
import { crc32 } from 'node:zlib';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { LossTotals } from '../../../../protocol/link/ledger-messages.ts';

export interface MembershipGap {
  fromUs: number;
  untilUs: number;
  /** Worker that held the connection before it was dropped. */
  worker: string;
}

export class RoomMembers {
  /** Time of the join's acknowledgement by room and slot. A slot is a connection's index in the ledger. */
  readonly #joinedAtUs = new Map<string, Map<number, number>>();
  readonly #leftAtUs = new Map<number, number>();
  /** Slots of connections that their virtual users closed. */
  readonly #closedByUser = new Set<number>();
  /**
   * Times by slot (index of the connection) during which a connection was dropped, for connections whose session the
   * server restored.
   */
  readonly #absences = new Map<number, MembershipGap[]>();
  /**
   * Worker that holds or last held the connection, by slot. Set once the connection has joined a room; '' if unknown.
   */
  readonly #workers = new Map<number, string>();
  /** Number of joins by slot (index of the connection) that the server has not acknowledged yet. */
  #joining: Uint8Array = new Uint8Array(64);
  /** Number of slots (indexes of connections) that the ledger's row of a broadcast needs. */
  slots = 0;
  #nextSlot = 0;

  newSlot(): number {
    return this.#nextSlot++;
  }

  /** Returns the join times of all present and past members of a room, by slot. */
  of(room: string): ReadonlyMap<number, number> | undefined {
    return this.#joinedAtUs.get(room);
  }

  /**
   * Returns at most `most` rooms with their current number of members. All processes choose rooms in the same order, so
   * the run knows the members of these rooms in all processes.
   */
  sample(most: number): [room: string, members: number][] {
    const first = [...this.#joinedAtUs.keys()].map((room) => ({ room, rank: crc32(room) }));
    return first
      .sort((a, b) => a.rank - b.rank)
      .slice(0, most)
      .map(({ room }) => [room, [...(this.of(room)?.keys() ?? [])].filter((slot) => !this.#leftAtUs.has(slot)).length]);
  }

  /** Returns the time at which the connection ended; undefined while it is connected. */
  leftAtUs(slot: number): number | undefined {
    return this.#leftAtUs.get(slot);
  }

  absences(slot: number): readonly MembershipGap[] | undefined {
    return this.#absences.get(slot);
  }

  /** Returns the worker that held the connection at the given time; `''` if it is unknown. */
  workerAt(slot: number, atUs: number): string | undefined {
    const next = this.#absences.get(slot)?.find(({ fromUs }) => atUs < fromUs);
    return next ? next.worker : this.#workers.get(slot);
  }

  isJoining(slot: number): boolean {
    return (this.#joining[slot] ?? 0) > 0;
  }

  /** Records a sent join. `answered` must follow when the server has acknowledged it. */
  joining(slot: number): void {
    if (slot >= this.#joining.length) this.#joining = growArray(this.#joining, slot + 1);
    this.#joining[slot] = (this.#joining[slot] ?? 0) + 1;
  }

  answered(slot: number): void {
    this.#joining[slot] = (this.#joining[slot] ?? 0) - 1;
  }

  /**
   * Makes the connection a member of the room from this time on.
   * @param worker worker that holds the connection; `''` if unknown
   */
  joined(slot: number, room: string, worker: string, atUs: number): void {
    const members = getOrAdd(this.#joinedAtUs, room, () => new Map<number, number>());
    if (!members.has(slot)) members.set(slot, atUs);
    this.#workers.set(slot, worker);
    this.slots = Math.max(this.slots, slot + 1);
  }

  /**
   * Records the end of a connection. For broadcasts that were sent before, the connection remains a member of its
   * rooms.
   * @param byUser whether its virtual user closed it
   */
  left(slot: number, atUs: number, byUser = false): void {
    // Only the first end of a connection is recorded. Later failed attempts to reconnect are ignored.
    if (!this.#workers.has(slot) || this.#leftAtUs.has(slot)) return;
    this.#leftAtUs.set(slot, atUs);
    if (byUser) this.#closedByUser.add(slot);
  }

  /** Returns whether the connection ended because its virtual user closed it. */
  wasClosedByUser(slot: number): boolean {
    return this.#closedByUser.has(slot);
  }

  /**
   * Records that the server has restored the session of a dropped connection. The connection counts as a member of its
   * rooms also for the time in which it was dropped.
   * @param worker worker that holds the connection now; `''` if unknown
   * @returns whether the connection is a member of a room
   */
  recovered(slot: number, worker: string, atUs: number): boolean {
    const heldBy = this.#workers.get(slot);
    if (heldBy === undefined) return false;
    const fromUs = this.#leftAtUs.get(slot);
    if (fromUs !== undefined) {
      this.#leftAtUs.delete(slot);
      const before = this.#absences.get(slot) ?? [];
      this.#absences.set(slot, [...before, { fromUs, untilUs: atUs, worker: heldBy }]);
    }
    this.#workers.set(slot, worker);
    return true;
  }
}

/** Returns a larger copy of the array: at least `slots` values, and at least twice the size. */
export function growArray<A extends Uint32Array | Uint8Array>(values: A, slots: number): A {
  const larger = new (values.constructor as new (length: number) => A)(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}

/** Values that describe which broadcasts a connection has received: none so far, all since its first, or only some. */
const NOTHING = 0;
const ALL_SINCE_FIRST = 1;
const SOME = 2;

export class MemberLosses {
  /** Number of broadcasts that each connection was expected to receive, by slot. */
  #expected: Uint32Array = new Uint32Array(64);
  /** Number of broadcasts that each connection lost while it was open, by slot. */
  #lost: Uint32Array = new Uint32Array(64);
  #pattern: Uint8Array = new Uint8Array(64);
  /**
   * Milliseconds from the join of a connection to the send time of its first received broadcast, by slot. Until a
   * broadcast is received: to the send time of the last lost broadcast.
   */
  #sinceJoinMs: Uint32Array = new Uint32Array(64);

  /**
   * Adds a broadcast that the connection was expected to receive. Broadcasts must be added in their order.
   * @param sinceJoinUs time from the connection's join to the send
   */
  add(slot: number, isLost: boolean, sinceJoinUs: number): void {
    if (slot >= this.#expected.length) {
      this.#expected = growArray(this.#expected, slot + 1);
      this.#lost = growArray(this.#lost, slot + 1);
      this.#pattern = growArray(this.#pattern, slot + 1);
      this.#sinceJoinMs = growArray(this.#sinceJoinMs, slot + 1);
    }
    this.#expected[slot] = (this.#expected[slot] as number) + 1;
    if (this.#pattern[slot] === NOTHING) {
      this.#sinceJoinMs[slot] = sinceJoinUs / 1000;
      if (!isLost) this.#pattern[slot] = ALL_SINCE_FIRST;
    } else if (isLost) this.#pattern[slot] = SOME;
    if (isLost) this.#lost[slot] = (this.#lost[slot] as number) + 1;
  }

  totals(): LossTotals {
    const counts = { members: 0, losers: 0, receivedNone: 0 };
    const [lost, expected, started, unstarted] = Array.from({ length: 4 }, createHistogram) as [H, H, H, H];
    this.#expected.forEach((of, slot) => {
      if (of === 0) return;
      counts.members++;
      const count = this.#lost[slot] as number;
      if (count === 0) return;
      counts.losers++;
      recordUs(expected, of);
      const sinceJoinUs = 1000 * (this.#sinceJoinMs[slot] as number);
      if (count === of) {
        counts.receivedNone++;
        recordUs(unstarted, sinceJoinUs);
        return;
      }
      recordUs(lost, count);
      if (this.#pattern[slot] === ALL_SINCE_FIRST) recordUs(started, sinceJoinUs);
    });
    const [startedUs, unstartedUs] = [started, unstarted].map(encodeHistogram) as [string, string];
    return { ...counts, lost: encodeHistogram(lost), expected: encodeHistogram(expected), startedUs, unstartedUs };
  }
}

type H = ReturnType<typeof createHistogram>;
