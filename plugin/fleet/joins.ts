/** Who is in a room: the joins that the server has yet to acknowledge, and the members. Keeps the ledger told. */
import { monotonicUs } from '../../protocol/clock.ts';
import type { Joined, JoinRoom, Refusal } from '../../protocol/events.ts';
import type { Ledger } from './ledger.ts';

interface Pending {
  ackId: number;
  /** As it was asked for; the server may give another one. */
  room: string;
}

/** What the server made of a join. */
export type Outcome = Accepted | { refusedBecause: string } | undefined;

export interface Accepted {
  room: string;
  /** Undefined from a server that names none. */
  worker: string | undefined;
}

export class Joins {
  readonly #ledger: Ledger;
  /** By slot, so that a leaving connection is found at once also where a server never answers anybody. */
  readonly #pending = new Map<number, Pending[]>();
  readonly #members = new Set<number>();
  #pendingCount = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Sent and not yet acknowledged. */
  get joining(): number {
    return this.#pendingCount;
  }

  /** Connections that are in a room now. */
  get joined(): number {
    return this.#members.size;
  }

  asked(slot: number, ackId: number, payload: JoinRoom): void {
    const room = typeof payload === 'string' ? payload : String(payload?.clientKey);
    this.#pendingCount++;
    this.#pending.set(slot, [...(this.#pending.get(slot) ?? []), { ackId, room }]);
  }

  /** @returns undefined when it answers something else than a join, or with an error of the server's own */
  answered(slot: number, ackId: number, answer: unknown): Outcome {
    const pending = this.#pending.get(slot);
    const join = pending?.find((one) => one.ackId === ackId);
    if (!pending || !join) return undefined;
    this.#pendingCount--;
    if (pending.length === 1) this.#pending.delete(slot);
    else
      this.#pending.set(
        slot,
        pending.filter((one) => one !== join),
      );
    const said = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Joined & Refusal>;
    if (said.code === 'JOIN_REFUSED') return { refusedBecause: String(said.error) };
    if (said.error !== undefined) return undefined;
    return {
      room: typeof said.room === 'string' ? said.room : join.room,
      worker: typeof said.worker === 'string' ? said.worker : undefined,
    };
  }

  entered(slot: number, room: string, worker: string): void {
    this.#ledger.joined(slot, room, worker, monotonicUs());
    this.#members.add(slot);
  }

  /** The connection has ended. */
  left(slot: number): void {
    this.#ledger.left(slot, monotonicUs());
    this.#members.delete(slot);
    this.#pendingCount -= this.#pending.get(slot)?.length ?? 0;
    this.#pending.delete(slot);
  }
}
