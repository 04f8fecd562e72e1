/** Who is in a room: joins that the server has not acknowledged yet, and members. Reports both to the ledger. */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import { EVENTS, type Joined, type JoinRoom, type Refusal } from '../../../../protocol/events.ts';
import { AUDIENCE } from '../../../../protocol/rooms.ts';
import type { FleetSettings } from '../../messages.ts';
import { nameOf } from '../../server-name.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** Acknowledgement ids of joins that only the ledger needs; the engine's request ids never get this high. */
const FIRST_OWN_ACK_ID = 2 ** 40;

interface PendingJoin {
  ackId: number;
  /** As requested; the server can choose another one. */
  room: string;
}

/** The server's answer to a join. */
type Answer = Accepted | { refusedBecause: string } | undefined;

interface Accepted {
  room: string;
  /** Undefined from a server that names none. */
  worker: string | undefined;
}

/** A refusal travels between processes, once for each connection. */
const MAX_REASON_LENGTH = 1000;

export class Joins {
  readonly #ledger: Ledger;
  readonly #ownEvent: FleetSettings['ownEvent'];
  /** Its acknowledgement makes a connection a member. */
  readonly #joinEvent: string | undefined;
  /** By slot, so that the joins of a connection that ends are found at once, even if a server answers none. */
  readonly #pending = new Map<number, PendingJoin[]>();
  readonly #members = new Set<number>();
  #pendingCount = 0;
  #nextOwnAckId = FIRST_OWN_ACK_ID;

  constructor(ledger: Ledger, settings: Pick<FleetSettings, 'ledger' | 'ownEvent'>) {
    this.#ledger = ledger;
    this.#ownEvent = settings.ownEvent;
    this.#joinEvent = this.#ownEvent ? this.#ownEvent.join : settings.ledger ? EVENTS.joinRoom : undefined;
  }

  /** Sent and not yet acknowledged. */
  get joining(): number {
    return this.#pendingCount;
  }

  /** Connections that are in a room now. */
  get joined(): number {
    return this.#members.size;
  }

  /**
   * @param requestId of the engine, if it waits for the acknowledgement too
   * @returns the acknowledgement id to send the join with
   */
  request(slot: number, requestId: number | undefined, payload: JoinRoom): number {
    const ackId = requestId ?? this.#nextOwnAckId++;
    const room = typeof payload === 'string' ? payload : String(payload?.clientKey);
    this.#pendingCount++;
    this.#ledger.members.joining(slot);
    this.#pending.set(slot, [...(this.#pending.get(slot) ?? []), { ackId, room }]);
    return ackId;
  }

  isJoin(event: string): boolean {
    return event === this.#joinEvent;
  }

  /** @returns whether only the ledger waits for this acknowledgement */
  isOwnRequest(ackId: number): boolean {
    return ackId >= FIRST_OWN_ACK_ID;
  }

  /** @returns undefined if it acknowledges another event, or has an error of the server's own */
  answered(slot: number, ackId: number, answer: unknown): Answer {
    const pending = this.#pending.get(slot);
    const join = pending?.find((one) => one.ackId === ackId);
    if (!pending || !join) return undefined;
    this.#pendingCount--;
    this.#ledger.members.answered(slot);
    if (pending.length === 1) this.#pending.delete(slot);
    else
      this.#pending.set(
        slot,
        pending.filter((one) => one !== join),
      );
    const joined = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Joined & Refusal>;
    if (joined.code === 'JOIN_REFUSED') return { refusedBecause: String(joined.error).slice(0, MAX_REASON_LENGTH) };
    if (joined.error !== undefined) return undefined;
    return {
      room: nameOf(joined.room) ?? join.room,
      worker: nameOf(joined.worker),
    };
  }

  /** Makes it a receiver of an own event, where all connections are. */
  connected(slot: number): void {
    if (this.#ownEvent && this.#joinEvent === undefined) this.entered(slot, AUDIENCE, '');
  }

  /**
   * @param worker `''` if the server has not named it
   * @param room for an own event, all members are the same audience, and who publishes is not known
   */
  entered(slot: number, room: string, worker: string): void {
    if (this.#ownEvent) this.#ledger.members.joined(slot, AUDIENCE, '', monotonicUs());
    else this.#ledger.members.joined(slot, room, worker, monotonicUs());
    this.#members.add(slot);
  }

  /** It is in its rooms again, and has been to the server all the time. @param worker as for `entered` */
  recovered(slot: number, worker: string): void {
    if (this.#ledger.members.recovered(slot, this.#ownEvent ? '' : worker, monotonicUs())) this.#members.add(slot);
  }

  /** The connection has ended. */
  left(slot: number): void {
    this.#ledger.members.left(slot, monotonicUs());
    this.#members.delete(slot);
    this.#pendingCount -= this.#pending.get(slot)?.length ?? 0;
    this.#pending.delete(slot);
  }
}
