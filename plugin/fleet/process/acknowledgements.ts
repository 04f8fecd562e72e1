/**
 * Pairs the server's acknowledgements with sent messages: joins, from which the ledger knows the members, and messages for which the engine
 * waits. All other acknowledgements end here, so that a server cannot fill the channel to the engine.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { valuesAt } from '../../../protocol/base/json-path.ts';
import { EVENTS, type Joined, type JoinRoom, type Refusal } from '../../../protocol/wire/events.ts';
import { AUDIENCE, placeOf } from '../../../protocol/wire/rooms.ts';
import { roomNames } from '../client/counted-event.ts';
import type { EmitCommand, FleetAnswer, FleetSettings } from '../fleet-messages.ts';
import { nameOf } from '../server-name.ts';
import type { CountedConnection, Counts } from './counts/connection-counts.ts';
import type { Ledger } from './ledger/ledger.ts';

/** Acknowledgement ids of joins that only the ledger needs; the engine's request ids never get this high. */
const FIRST_OWN_ACK_ID = 2 ** 40;
/** A refusal travels between processes, once for each connection. */
const MAX_REASON_LENGTH = 1000;

interface Join {
  namespace: string;
  /** The connection's slot at the time of the send. */
  slot: number;
  /** The requested rooms; the server can choose other ones. */
  rooms: readonly string[];
}

/** The part of a connection that acknowledgements need. */
export interface Member extends CountedConnection {
  readonly id: number;
  /** Its virtual user has closed it. */
  readonly isClosing: boolean;
  /**
   * The ledger's index: dense, never reused. A reconnect with a restored session keeps it, any other gets a new one. Negative before
   * the first attempt.
   */
  slot: number;
  /** Rooms of an own event that its virtual user has named. */
  readonly rooms: readonly string[] | undefined;
  /** Unacknowledged messages by acknowledgement id; undefined for a message that is no join. */
  awaited: Map<number, Join | undefined> | undefined;
  /** It is in a room. */
  isMember: boolean;
}

export class Acknowledgements {
  /** Sent joins that are not acknowledged. */
  joining = 0;
  /** Connections that are in a room now. */
  joined = 0;
  readonly #parts: { ledger: Ledger; counts: Counts; answer: (answer: FleetAnswer) => void };
  readonly #ownEvent: FleetSettings['ownEvent'];
  /** Whether the run asks for members: otherwise, connections that come and go all day would fill the memory. */
  readonly #remembers: boolean;
  /** Its acknowledgement makes a connection a member. */
  readonly #joinEvent: string | undefined;
  #nextOwnAckId = FIRST_OWN_ACK_ID;
  /**
   * Whether session ids begin with the worker's name, as those of our own servers do: undefined until a join has named a worker,
   * and false once one has named another than the session id.
   */
  #sessionsNameWorkers: boolean | undefined;

  constructor(
    { ownEvent, ledger, reconnection }: Pick<FleetSettings, 'ownEvent' | 'ledger' | 'reconnection'>,
    parts: { ledger: Ledger; counts: Counts; answer: (answer: FleetAnswer) => void },
  ) {
    this.#parts = parts;
    this.#ownEvent = ownEvent;
    this.#remembers = parts.ledger.remembers || reconnection !== undefined;
    this.#joinEvent = ownEvent ? ownEvent.join : ledger ? EVENTS.joinRoom : undefined;
  }

  /** @returns the id to send the event with; undefined if nobody needs its acknowledgement */
  request(connection: Member, { event, args, requestId, namespace }: EmitCommand): number | undefined {
    const isJoin = event === this.#joinEvent;
    const ackId = requestId ?? (isJoin ? this.#nextOwnAckId++ : undefined);
    if (ackId === undefined) return undefined;
    const { slot } = connection;
    connection.awaited ??= new Map();
    connection.awaited.set(ackId, isJoin ? { namespace, slot, rooms: this.#roomsIn(args) } : undefined);
    if (isJoin) {
      this.joining++;
      this.#parts.ledger.members.joining(slot);
    }
    return ackId;
  }

  received(connection: Member, ackId: number, args: unknown[]): void {
    const { awaited, id } = connection;
    if (!awaited?.has(ackId)) {
      this.#parts.counts.unknownAcks++;
      return;
    }
    const join = awaited.get(ackId);
    awaited.delete(ackId);
    if (awaited.size === 0) connection.awaited = undefined;
    const refusedBecause = join && this.#onJoinAnswered(connection, join, args);
    const isOwn = ackId >= FIRST_OWN_ACK_ID;
    if (refusedBecause !== undefined) {
      const failure = { cause: 'join_refused' as const, message: refusedBecause };
      // A failed request, if the flow waits for the acknowledgement; else a report to the virtual user.
      this.#parts.answer(isOwn ? { op: 'refused', id, ...failure } : { op: 'failed', requestId: ackId, ...failure });
    } else if (!isOwn) this.#parts.answer({ op: 'acked', requestId: ackId, args });
  }

  /** @returns why the server refuses the join */
  #onJoinAnswered(connection: Member, { namespace, slot, rooms: asked }: Join, args: unknown[]): string | undefined {
    this.joining--;
    this.#parts.ledger.members.answered(slot);
    const [answer] = args;
    const joined = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Joined & Refusal>;
    if (joined.code === 'JOIN_REFUSED') return String(joined.error).slice(0, MAX_REASON_LENGTH);
    // An error of the server's own makes no member.
    if (joined.error !== undefined) return undefined;
    const worker = nameOf(joined.worker);
    if (worker !== undefined) this.#name(connection, worker);
    // Session ids of other servers can begin with any text.
    const nowUs = monotonicUs();
    if (this.#ownEvent) this.#enterRooms(connection, namespace, asked.length > 0 ? asked : this.#roomsIn(args), nowUs);
    else {
      const worker = connection.namedByJoin ? connection.worker : '';
      this.#enter(connection, nameOf(joined.room) ?? asked[0] ?? '', worker, nowUs);
    }
    return undefined;
  }

  #name(connection: Member, worker: string): void {
    if (!connection.namedByJoin) {
      this.#sessionsNameWorkers = this.#sessionsNameWorkers !== false && connection.worker === worker;
    }
    this.#parts.counts.assign(connection, worker, true);
  }

  /** @param worker '' where the publisher is unknown */
  #enter(connection: Member, room: string, worker: string, atUs: number): void {
    this.#mark(connection, true);
    if (this.#remembers) this.#parts.ledger.members.joined(connection.slot, room, worker, atUs);
  }

  #enterRooms(connection: Member, namespace: string, rooms: readonly string[], atUs: number): void {
    for (const room of rooms) this.#enter(connection, placeOf({ namespace, room }), '', atUs);
  }

  /** @returns the rooms that a join, or its answer, names */
  #roomsIn(args: unknown[]): readonly string[] {
    if (!this.#ownEvent) return [roomOf(args[0] as JoinRoom)];
    const { room, roomInJoin } = this.#ownEvent;
    if (room === undefined) return [AUDIENCE];
    return roomInJoin ? roomNames(valuesAt(args, roomInJoin)) : [];
  }

  /** It is in these namespaces: a receiver of an own event, where all connections are. */
  connected(connection: Member, namespaces: readonly string[]): void {
    if (!this.#ownEvent || this.#joinEvent !== undefined) return;
    const names = this.#ownEvent.room === undefined ? [AUDIENCE] : (connection.rooms ?? []);
    const atUs = monotonicUs() + (this.#ownEvent.settlingUs ?? 0);
    for (const namespace of namespaces) this.#enterRooms(connection, namespace, names, atUs);
  }

  /**
   * The connection is back, perhaps on another worker, and the server has restored its session: it is in its rooms again, and
   * has been to the server all the time. No join names the worker.
   */
  recovered(connection: Member): void {
    const { slot, worker, namedByJoin } = connection;
    const isNamed = !this.#ownEvent && (namedByJoin || this.#sessionsNameWorkers);
    const { members } = this.#parts.ledger;
    if (members.recovered(slot, isNamed ? worker : '', monotonicUs())) this.#mark(connection, true);
  }

  /** The connection has a new session: to the ledger, it is a new one. */
  replaceSlot(connection: Member): void {
    this.#leaveRooms(connection);
    connection.slot = this.#parts.ledger.members.newSlot();
  }

  /** The connection has ended, and nothing that it waits for can come. */
  left(connection: Member, reason: string): void {
    for (const [requestId, join] of connection.awaited ?? []) {
      if (join) this.joining--;
      if (requestId < FIRST_OWN_ACK_ID) {
        this.#parts.answer({ op: 'failed', requestId, cause: 'closed', message: reason });
      }
    }
    connection.awaited = undefined;
    this.#leaveRooms(connection);
  }

  #leaveRooms(connection: Member): void {
    this.#parts.ledger.members.left(connection.slot, monotonicUs(), connection.isClosing);
    this.#mark(connection, false);
  }

  #mark(connection: Member, isMember: boolean): void {
    if (connection.isMember !== isMember) this.joined += isMember ? 1 : -1;
    connection.isMember = isMember;
  }
}

function roomOf(payload: JoinRoom): string {
  return typeof payload === 'string' ? payload : String(payload?.clientKey);
}
