/** Who is in a room: the joins that the server has yet to acknowledge, and the members. Keeps the ledger told. */
import { monotonicUs } from '../../protocol/clock.ts';
import type { Joined, JoinRoom } from '../../protocol/events.ts';
import type { Ledger } from './ledger.ts';

interface Pending {
  ackId: number;
  /** As it was asked for; the server may give another one. */
  room: string;
}

/** What the server made of a join. */
export interface Accepted {
  room: string;
  /** Undefined from a server that names none. */
  worker: string | undefined;
}

/** Names are kept for every connection: a server must not fill the memory with them. */
const MAX_NAME_LENGTH = 200;

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME_LENGTH;
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
    this.#ledger.joining(slot);
    this.#pending.set(slot, [...(this.#pending.get(slot) ?? []), { ackId, room }]);
  }

  /** @returns undefined when it answers something else than a join, or refuses one */
  answered(slot: number, ackId: number, answer: unknown): Accepted | undefined {
    const pending = this.#pending.get(slot);
    const join = pending?.find((one) => one.ackId === ackId);
    if (!pending || !join) return undefined;
    this.#pendingCount--;
    this.#ledger.answered(slot);
    if (pending.length === 1) this.#pending.delete(slot);
    else
      this.#pending.set(
        slot,
        pending.filter((one) => one !== join),
      );
    const said = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Joined> & { error?: unknown };
    if (said.error !== undefined) return undefined;
    return {
      room: isName(said.room) ? said.room : join.room,
      worker: isName(said.worker) ? said.worker : undefined,
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
