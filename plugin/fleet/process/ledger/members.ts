/** Times at which connections are members of rooms, and the copies that each connection lost while it was open. */
import { crc32 } from 'node:zlib';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { LossTotals } from '../../../../protocol/link/ledger-messages.ts';

export interface Absence {
  fromUs: number;
  untilUs: number;
  /** Which held the connection until then. */
  worker: string;
}

export class Members {
  /** Room → slot → when the join's acknowledgement arrived. */
  readonly #joinedAtUs = new Map<string, Map<number, number>>();
  readonly #leftAtUs = new Map<number, number>();
  /** Slots of those among them that their virtual users closed. */
  readonly #closedByUser = new Set<number>();
  /** Slot → when the connection was away, and the server kept its session. */
  readonly #absences = new Map<number, Absence[]>();
  /** Slot → the worker that holds the connection now or held it last, once it has joined. */
  readonly #workers = new Map<number, string>();
  /** Slot → joins that the server has not answered. */
  #joining: Uint8Array = new Uint8Array(64);
  /** Connections that a broadcast's row has room for. */
  slots = 0;
  #nextSlot = 0;

  /** @returns the index of another connection */
  newSlot(): number {
    return this.#nextSlot++;
  }

  /** @returns of each member that the room ever had, when it joined */
  of(room: string): ReadonlyMap<number, number> | undefined {
    return this.#joinedAtUs.get(room);
  }

  /**
   * @returns up to so many rooms, each with its connections now. Of the rooms that all processes together name, the first of
   *   these are those of every process that has a member, as each takes its first by the same order.
   */
  sample(most: number): [room: string, members: number][] {
    const first = [...this.#joinedAtUs.keys()].map((room) => ({ room, rank: crc32(room) }));
    return first
      .sort((a, b) => a.rank - b.rank)
      .slice(0, most)
      .map(({ room }) => [room, [...(this.of(room)?.keys() ?? [])].filter((slot) => !this.#leftAtUs.has(slot)).length]);
  }

  /** @returns undefined while it is connected */
  leftAtUs(slot: number): number | undefined {
    return this.#leftAtUs.get(slot);
  }

  absences(slot: number): readonly Absence[] | undefined {
    return this.#absences.get(slot);
  }

  /** @returns the worker that held the connection at the time; `''` if the server has not named it */
  workerAt(slot: number, atUs: number): string | undefined {
    const next = this.#absences.get(slot)?.find(({ fromUs }) => atUs < fromUs);
    return next ? next.worker : this.#workers.get(slot);
  }

  isJoining(slot: number): boolean {
    return (this.#joining[slot] ?? 0) > 0;
  }

  /** A join is under way; the server's answer to it is reported by `answered`. */
  joining(slot: number): void {
    if (slot >= this.#joining.length) this.#joining = grown(this.#joining, slot + 1);
    this.#joining[slot] = (this.#joining[slot] ?? 0) + 1;
  }

  answered(slot: number): void {
    this.#joining[slot] = (this.#joining[slot] ?? 0) - 1;
  }

  /** The connection is a member of the room from now on. @param worker `''` if the server has not named it */
  joined(slot: number, room: string, worker: string, atUs: number): void {
    const members = getOrAdd(this.#joinedAtUs, room, () => new Map<number, number>());
    if (!members.has(slot)) members.set(slot, atUs);
    this.#workers.set(slot, worker);
    this.slots = Math.max(this.slots, slot + 1);
  }

  /** The connection has ended; it stays in the rows of the broadcasts sent before. @param byUser its virtual user closed it */
  left(slot: number, atUs: number, byUser = false): void {
    // A failed attempt to reconnect ends no membership.
    if (!this.#workers.has(slot) || this.#leftAtUs.has(slot)) return;
    this.#leftAtUs.set(slot, atUs);
    if (byUser) this.#closedByUser.add(slot);
  }

  /** @returns whether the connection ended because its virtual user closed it */
  wasClosedByUser(slot: number): boolean {
    return this.#closedByUser.has(slot);
  }

  /**
   * The server has restored the session of a closed connection: it was a member all the time, and has received the missed packets.
   * @param worker that holds it now; `''` if it is unknown
   * @returns whether it is a member
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

/** @returns a copy with room for at least so many slots, and for twice as many as before */
export function grown<A extends Uint32Array | Uint8Array>(values: A, slots: number): A {
  const larger = new (values.constructor as new (length: number) => A)(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}

/** Receipts of a connection so far. */
const NOTHING = 0;
const ALL_SINCE_FIRST = 1;
const SOME = 2;

export class Losses {
  /** Slot → broadcasts that were for it. */
  #expected: Uint32Array = new Uint32Array(64);
  /** Slot → broadcasts lost while it was open. */
  #lost: Uint32Array = new Uint32Array(64);
  #pattern: Uint8Array = new Uint8Array(64);
  /** Slot → milliseconds from its join to the first broadcast that it received, or until then to the last that it lost. */
  #sinceJoinMs: Uint32Array = new Uint32Array(64);

  /** @param sinceJoinUs from the connection's join to the send; broadcasts come in their order */
  add(slot: number, isLost: boolean, sinceJoinUs: number): void {
    if (slot >= this.#expected.length) {
      this.#expected = grown(this.#expected, slot + 1);
      this.#lost = grown(this.#lost, slot + 1);
      this.#pattern = grown(this.#pattern, slot + 1);
      this.#sinceJoinMs = grown(this.#sinceJoinMs, slot + 1);
    }
    this.#expected[slot] = (this.#expected[slot] as number) + 1;
    if (this.#pattern[slot] === NOTHING) {
      this.#sinceJoinMs[slot] = sinceJoinUs / 1000;
      if (!isLost) this.#pattern[slot] = ALL_SINCE_FIRST;
    } else if (isLost) this.#pattern[slot] = SOME;
    if (isLost) this.#lost[slot] = (this.#lost[slot] as number) + 1;
  }

  totals(): LossTotals {
    const counts = { members: 0, losers: 0, gotNothing: 0 };
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
        counts.gotNothing++;
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
