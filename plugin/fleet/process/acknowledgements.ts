/**
 * Matches the server's acknowledgements with sent messages: joins, from which the ledger gets the members of rooms, and
 * messages for which the engine waits. All other acknowledgements are only counted, so a server cannot flood the
 * channel to the engine.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { valuesAtPath } from '../../../protocol/base/json-path.ts';
import {
  CONTRACT_EVENTS,
  type JoinAck,
  type JoinRoomMessage,
  type MessageRefusal,
} from '../../../protocol/wire/events.ts';
import { ALL_RECEIVERS_ROOM, roomKey } from '../../../protocol/wire/rooms.ts';
import { roomNames } from '../client/counted-event.ts';
import type { EmitCommand, FleetAnswer, FleetSettings } from '../fleet-messages.ts';
import { validServerName } from '../server-name.ts';
import type { ConnectionCounts, CountedConnection } from './counts/connection-counts.ts';
import type { Ledger } from './ledger/ledger.ts';

/**
 * First acknowledgement id of joins for which only the ledger needs the acknowledgement. The engine's request ids are
 * smaller.
 */
const FIRST_OWN_ACK_ID = 2 ** 40;
/** Largest length of a refused join's reason. It is limited, because each refusal is sent to the engine. */
const MAX_REASON_LENGTH = 1000;

interface Join {
  namespace: string;
  /** Slot of the connection when it sent the join: its index in the ledger. */
  slot: number;
  /** Rooms that the join requests. The server may answer with different rooms. */
  rooms: readonly string[];
}

/** Fields of a connection that are needed to handle its acknowledgements. */
export interface AckConnection extends CountedConnection {
  readonly id: number;
  /** Whether the virtual user is closing the connection. */
  readonly isClosing: boolean;
  /**
   * Index of the connection in the ledger; never reused. A reconnect with a restored session keeps the index, any other
   * reconnect gets a new index. Negative before the first attempt.
   */
  slot: number;
  /** Rooms of the server's own event that the virtual user has joined, by its flow. */
  readonly rooms: readonly string[] | undefined;
  /** Sent messages that the server has not acknowledged, by acknowledgement id. The value is set for joins only. */
  awaited: Map<number, Join | undefined> | undefined;
  isMember: boolean;
}

export class Acknowledgements {
  /** Number of sent joins that the server has not acknowledged yet. */
  joining = 0;
  /** Number of connections that are members of a room now. */
  joined = 0;
  readonly #parts: { ledger: Ledger; counts: ConnectionCounts; answer: (answer: FleetAnswer) => void };
  readonly #ownEvent: FleetSettings['ownEvent'];
  /**
   * Whether the ledger needs the members of rooms. If not, they are not stored, because a long run with many
   * connections would fill the memory.
   */
  readonly #remembers: boolean;
  /** Event whose acknowledgement makes a connection a member of a room. */
  readonly #joinEvent: string | undefined;
  #nextOwnAckId = FIRST_OWN_ACK_ID;
  /**
   * Whether session ids begin with the worker's name, as on the tool's own servers. Undefined until a join names a
   * worker. False once a join has named a different worker than the session id.
   */
  #sessionsNameWorkers: boolean | undefined;

  constructor(
    { ownEvent, ledger, reconnection }: Pick<FleetSettings, 'ownEvent' | 'ledger' | 'reconnection'>,
    parts: { ledger: Ledger; counts: ConnectionCounts; answer: (answer: FleetAnswer) => void },
  ) {
    this.#parts = parts;
    this.#ownEvent = ownEvent;
    this.#remembers = parts.ledger.remembers || reconnection !== undefined;
    this.#joinEvent = ownEvent ? ownEvent.join : ledger ? CONTRACT_EVENTS.joinRoom : undefined;
  }

  /** Returns the acknowledgement id to send with an event; undefined if no acknowledgement is needed. */
  request(connection: AckConnection, { event, args, requestId, namespace }: EmitCommand): number | undefined {
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

  received(connection: AckConnection, ackId: number, args: unknown[]): void {
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
      // If the engine waits for the join's acknowledgement, its request fails. Otherwise the refusal is reported to the
      // virtual user.
      this.#parts.answer(isOwn ? { op: 'refused', id, ...failure } : { op: 'failed', requestId: ackId, ...failure });
    } else if (!isOwn) this.#parts.answer({ op: 'acked', requestId: ackId, args });
  }

  /**
   * Handles the acknowledgement of a join.
   * @returns the server's reason if it refused the join; undefined if it accepted the join
   */
  #onJoinAnswered(
    connection: AckConnection,
    { namespace, slot, rooms: asked }: Join,
    args: unknown[],
  ): string | undefined {
    this.joining--;
    this.#parts.ledger.members.answered(slot);
    const [answer] = args;
    const joined = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<JoinAck & MessageRefusal>;
    if (joined.code === 'JOIN_REFUSED') return String(joined.error).slice(0, MAX_REASON_LENGTH);
    // The server reported an error other than a refusal, so the connection is not a member.
    if (joined.error !== undefined) return undefined;
    const worker = validServerName(joined.worker);
    if (worker !== undefined) this.#name(connection, worker);
    // Only a worker that a join has named is used: session ids of other servers can begin with any text.
    const nowUs = monotonicUs();
    if (this.#ownEvent) this.#enterRooms(connection, namespace, asked.length > 0 ? asked : this.#roomsIn(args), nowUs);
    else {
      const worker = connection.namedByJoin ? connection.worker : '';
      this.#enter(connection, validServerName(joined.room) ?? asked[0] ?? '', worker, nowUs);
    }
    return undefined;
  }

  #name(connection: AckConnection, worker: string): void {
    if (!connection.namedByJoin) {
      this.#sessionsNameWorkers = this.#sessionsNameWorkers !== false && connection.worker === worker;
    }
    this.#parts.counts.assign(connection, worker, true);
  }

  /**
   * Makes the connection a member of a room.
   * @param worker worker that holds the connection; '' if unknown
   */
  #enter(connection: AckConnection, room: string, worker: string, atUs: number): void {
    this.#mark(connection, true);
    if (this.#remembers) this.#parts.ledger.members.joined(connection.slot, room, worker, atUs);
  }

  #enterRooms(connection: AckConnection, namespace: string, rooms: readonly string[], atUs: number): void {
    for (const room of rooms) this.#enter(connection, roomKey({ namespace, room }), '', atUs);
  }

  /** Returns the rooms in the arguments of a join or of its acknowledgement. */
  #roomsIn(args: unknown[]): readonly string[] {
    if (!this.#ownEvent) return [roomOf(args[0] as JoinRoomMessage)];
    const { room, roomInJoin } = this.#ownEvent;
    if (room === undefined) return [ALL_RECEIVERS_ROOM];
    return roomInJoin ? roomNames(valuesAtPath(args, roomInJoin)) : [];
  }

  /**
   * Makes the connection a receiver of the server's own event in these namespaces, if connections need no join to
   * receive it.
   */
  connected(connection: AckConnection, namespaces: readonly string[]): void {
    if (!this.#ownEvent || this.#joinEvent !== undefined) return;
    const names = this.#ownEvent.room === undefined ? [ALL_RECEIVERS_ROOM] : (connection.rooms ?? []);
    const atUs = monotonicUs() + (this.#ownEvent.settlingUs ?? 0);
    for (const namespace of namespaces) this.#enterRooms(connection, namespace, names, atUs);
  }

  /**
   * Makes a reconnected connection a member of its rooms again, because the server has restored its session. A
   * different worker may hold the connection now. Unless the server names that worker, the worker counts as unknown.
   */
  recovered(connection: AckConnection): void {
    const { slot, worker, namedByJoin } = connection;
    const isNamed = !this.#ownEvent && (namedByJoin || this.#sessionsNameWorkers);
    const { members } = this.#parts.ledger;
    if (members.recovered(slot, isNamed ? worker : '', monotonicUs())) this.#mark(connection, true);
  }

  /** Gives a connection a new slot (index in the ledger). With a new session, it is a new connection for the ledger. */
  replaceSlot(connection: AckConnection): void {
    this.#leaveRooms(connection);
    connection.slot = this.#parts.ledger.members.newSlot();
  }

  /** Records that the connection has ended, so its messages will not be acknowledged. */
  left(connection: AckConnection, reason: string): void {
    for (const [requestId, join] of connection.awaited ?? []) {
      if (join) this.joining--;
      if (requestId < FIRST_OWN_ACK_ID) {
        this.#parts.answer({ op: 'failed', requestId, cause: 'closed', message: reason });
      }
    }
    connection.awaited = undefined;
    this.#leaveRooms(connection);
  }

  #leaveRooms(connection: AckConnection): void {
    this.#parts.ledger.members.left(connection.slot, monotonicUs(), connection.isClosing);
    this.#mark(connection, false);
  }

  #mark(connection: AckConnection, isMember: boolean): void {
    if (connection.isMember !== isMember) this.joined += isMember ? 1 : -1;
    connection.isMember = isMember;
  }
}

function roomOf(payload: JoinRoomMessage): string {
  return typeof payload === 'string' ? payload : String(payload?.clientKey);
}
