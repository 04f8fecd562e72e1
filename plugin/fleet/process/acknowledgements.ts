/**
 * Pairs the server's acknowledgements with what was sent: joins, by which the ledger knows the members, and whatever the
 * engine waits for. One that nobody waits for ends here, so that a server cannot fill the channel to the engine with them.
 */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { EVENTS, type Joined, type JoinRoom, type Refusal } from '../../../protocol/events.ts';
import { AUDIENCE } from '../../../protocol/rooms.ts';
import type { Client } from '../client/client.ts';
import type { FleetAnswer, FleetSettings } from '../messages.ts';
import { nameOf } from '../server-name.ts';
import type { Connection, EmitCommand } from './connections/connection.ts';
import type { Counts } from './counts/counts.ts';
import type { Ledger } from './ledger/ledger.ts';

/** Acknowledgement ids of joins that only the ledger needs; the engine's request ids never get this high. */
const FIRST_OWN_ACK_ID = 2 ** 40;
/** A refusal travels between processes, once for each connection. */
const MAX_REASON_LENGTH = 1000;

export class Acknowledgements {
  /** Sent joins that are not acknowledged. */
  joining = 0;
  readonly #ledger: Ledger;
  readonly #counts: Counts;
  readonly #answer: (answer: FleetAnswer) => void;
  readonly #ownEvent: FleetSettings['ownEvent'];
  /** Its acknowledgement makes a connection a member. */
  readonly #joinEvent: string | undefined;
  /**
   * By slot, so that those of a connection that ends are forgotten at once. Of a join, with the room as requested; the
   * server can choose another one.
   */
  readonly #awaited = new Map<number, Map<number, string | undefined>>();
  /** Slots. */
  readonly #members = new Set<number>();
  #nextOwnAckId = FIRST_OWN_ACK_ID;
  /**
   * Whether session ids begin with the worker's name, as those of our own servers do: undefined until a join has named a worker,
   * and false once one has named another than the session id.
   */
  #sessionsNameWorkers: boolean | undefined;

  constructor(
    { ownEvent, ledger }: Pick<FleetSettings, 'ownEvent' | 'ledger'>,
    parts: { ledger: Ledger; counts: Counts; answer: (answer: FleetAnswer) => void },
  ) {
    this.#ledger = parts.ledger;
    this.#counts = parts.counts;
    this.#answer = parts.answer;
    this.#ownEvent = ownEvent;
    this.#joinEvent = ownEvent ? ownEvent.join : ledger ? EVENTS.joinRoom : undefined;
  }

  /** Connections that are in a room now. */
  get joined(): number {
    return this.#members.size;
  }

  /** @returns the id to send the event with; undefined if nobody needs its acknowledgement */
  request({ slot }: Client, { event, args, requestId }: EmitCommand): number | undefined {
    const isJoin = event === this.#joinEvent;
    const ackId = requestId ?? (isJoin ? this.#nextOwnAckId++ : undefined);
    if (ackId === undefined) return undefined;
    let awaited = this.#awaited.get(slot);
    if (!awaited) {
      awaited = new Map();
      this.#awaited.set(slot, awaited);
    }
    awaited.set(ackId, isJoin ? roomOf(args[0] as JoinRoom) : undefined);
    if (isJoin) {
      this.joining++;
      this.#ledger.members.joining(slot);
    }
    return ackId;
  }

  /** @param connection undefined once its client has been dropped */
  received({ slot }: Client, connection: Connection | undefined, ackId: number, args: unknown[]): void {
    const awaited = this.#awaited.get(slot);
    if (!awaited?.has(ackId)) {
      this.#counts.unknownAcks++;
      return;
    }
    const room = awaited.get(ackId);
    awaited.delete(ackId);
    if (awaited.size === 0) this.#awaited.delete(slot);
    const refusedBecause = room === undefined ? undefined : this.#onJoinAnswered(slot, connection, room, args[0]);
    const isOwn = ackId >= FIRST_OWN_ACK_ID;
    if (refusedBecause !== undefined) {
      const failure = { cause: 'join_refused' as const, message: refusedBecause };
      // A failed request, if the flow waits for the acknowledgement; else a report to the virtual user.
      if (!isOwn) this.#answer({ op: 'failed', requestId: ackId, ...failure });
      else if (connection) this.#answer({ op: 'refused', id: connection.id, ...failure });
    } else if (!isOwn) this.#answer({ op: 'acked', requestId: ackId, args });
  }

  /** @returns why the server refuses the join */
  #onJoinAnswered(
    slot: number,
    connection: Connection | undefined,
    asked: string,
    answer: unknown,
  ): string | undefined {
    this.joining--;
    this.#ledger.members.answered(slot);
    const joined = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Joined & Refusal>;
    if (joined.code === 'JOIN_REFUSED') return String(joined.error).slice(0, MAX_REASON_LENGTH);
    // An error of the server's own makes no member.
    if (joined.error !== undefined || !connection?.open) return undefined;
    const worker = nameOf(joined.worker);
    if (worker !== undefined) this.#name(connection, worker);
    // A session id of somebody else's server can begin with anything.
    this.#enter(slot, nameOf(joined.room) ?? asked, connection.namedByJoin ? connection.worker : '');
    return undefined;
  }

  #name(connection: Connection, worker: string): void {
    if (!connection.namedByJoin) {
      this.#sessionsNameWorkers = this.#sessionsNameWorkers !== false && connection.worker === worker;
    }
    this.#counts.assign(connection, worker, true);
  }

  /** @param room for an own event, all members are the same audience, and who publishes is not known */
  #enter(slot: number, room: string, worker: string): void {
    if (this.#ownEvent) this.#ledger.members.joined(slot, AUDIENCE, '', monotonicUs());
    else this.#ledger.members.joined(slot, room, worker, monotonicUs());
    this.#members.add(slot);
  }

  /** The connection is open: a receiver of an own event, where all connections are. */
  connected({ slot }: Client): void {
    if (this.#ownEvent && this.#joinEvent === undefined) this.#enter(slot, AUDIENCE, '');
  }

  /**
   * The connection is back, perhaps on another worker, and the server has restored its session: it is in its rooms again, and
   * has been to the server all the time. No join names the worker.
   */
  recovered({ slot }: Client, { worker, namedByJoin }: Connection): void {
    const isNamed = !this.#ownEvent && (namedByJoin || this.#sessionsNameWorkers);
    if (this.#ledger.members.recovered(slot, isNamed ? worker : '', monotonicUs())) this.#members.add(slot);
  }

  /** The connection has ended, and nothing that it waits for can come. */
  left({ slot }: Client, reason: string): void {
    for (const [requestId, room] of this.#awaited.get(slot) ?? []) {
      if (room !== undefined) this.joining--;
      if (requestId < FIRST_OWN_ACK_ID) {
        this.#answer({ op: 'failed', requestId, cause: 'closed', message: reason });
      }
    }
    this.#awaited.delete(slot);
    this.#ledger.members.left(slot, monotonicUs());
    this.#members.delete(slot);
  }
}

function roomOf(payload: JoinRoom): string {
  return typeof payload === 'string' ? payload : String(payload?.clientKey);
}
