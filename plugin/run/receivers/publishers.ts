/**
 * Publishes the user's own event through clients of the run. No ledger counts what these clients receive, so it does
 * not matter whether the server sends a broadcast back to its publisher.
 */
import { randomBytes } from 'node:crypto';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { ALL_RECEIVERS_ROOM, ownBroadcastKey, parseRoomKey } from '../../../protocol/wire/rooms.ts';
import { countAckError } from '../../fleet/client/ack-errors.ts';
import { ANY_EVENT } from '../../fleet/fleet-messages.ts';
import type { PublishOptions } from '../../script/options/delivery-options.ts';
import { sendOnSchedule } from '../broadcasts/publish.ts';
import { connectFirstAccepted } from './connect-client.ts';
import type { RunClients } from './run-clients.ts';
import type { ConnectedClient, RunSocket } from './run-connection.ts';

/** An event that the run published. Times are on CLOCK_MONOTONIC. */
export interface PublishedEvent {
  /** Number of the published event, from 1. */
  seq: number;
  id: string;
  /** Room to which the event is published; `''` if the run does not choose the room. */
  room: string;
  /** Key of the broadcast in the ledgers, if the server sends it in the publisher's namespace. */
  countedAs: string;
  emittedAtUs: number;
  intendedAtUs: number;
  /** The send time in the payload, in milliseconds since 1970. */
  sentAt: number;
}

/** An acknowledgement of the server, and how many times it arrived. */
export interface ReceivedAck {
  /** The acknowledged value as JSON; a list if the server acknowledges with several values. */
  text: string;
  count: number;
}

/** An event that a publisher received after it had published. Only the first event of each name is kept. */
export interface ReceivedByPublisher {
  event: string;
  /** Beginning of the event's arguments, as JSON. */
  text: string;
}

export interface UnacknowledgedEvent {
  asked: number;
  missing: number;
  /** Whether the option or a scenario states that the server acknowledges the event. */
  isExpected: boolean;
}

const MAX_ACKNOWLEDGED = 5;
const MAX_TEXT_LENGTH = 200;
const MAX_RECEIVED = 5;
/** Number of received events after which a publisher stops listening. */
const MAX_EVENTS = 100;

/** Time in milliseconds until the first event is published. */
const LEAD_MS = 200;
const PLACEHOLDER = /\$(id|sentAt|room)\b/g;

/** Options of the publishers. `hasRooms`: whether broadcasts go to rooms. */
type Options = PublishOptions & { hasRooms?: boolean };

export class Publishers {
  /** Clients that publish one after the other. */
  readonly clients: readonly ConnectedClient[];
  readonly #options: Options;
  /** Prefix of all ids of the run. It is short, because servers may truncate texts. */
  readonly prefix = `run-${randomBytes(4).toString('hex')}-`;
  #asks: boolean;
  readonly #isExpected: boolean;
  readonly #acknowledged = new Map<string, number>();
  readonly ackErrors: Record<string, number> = {};
  readonly #listening = new Set<RunSocket>();
  readonly received: ReceivedByPublisher[] = [];
  #ackRequests = 0;
  #ackCount = 0;

  /** @param asks whether the options or a scenario request acknowledgements; undefined if neither decides */
  private constructor(options: Options, clients: ConnectedClient[], asks: boolean | undefined) {
    this.#options = options;
    this.#asks = asks ?? true;
    this.#isExpected = asks === true;
    this.clients = clients;
  }

  /**
   * Connects all publishers.
   * @throws RefusedError; CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async connect(
    clients: Pick<RunClients, 'nextReceiver' | 'asksFor'>,
    options: Options,
    signal: AbortSignal,
  ): Promise<Publishers> {
    const opening = Array.from({ length: options.users }, () =>
      connectFirstAccepted(() => clients.nextReceiver(), signal),
    );
    const opened = await Promise.allSettled(opening);
    const connected = opened.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const publishers = new Publishers(options, connected, options.acknowledge ?? clients.asksFor(options.emit.event));
    const failed = opened.find((outcome) => outcome.status === 'rejected');
    if (failed) {
      publishers.close();
      throw failed.reason;
    }
    return publishers;
  }

  get connected(): number {
    return this.clients.filter(({ socket }) => socket.connected).length;
  }

  /**
   * Whether the run chooses the ids of broadcasts. Only then can the run notice a broadcast that no client receives.
   */
  get givesIds(): boolean {
    const { args } = this.#options.emit;
    return mentions(args, '$id') && (!this.#options.hasRooms || mentions(args, '$room'));
  }

  /** Whether the run chooses the room of a broadcast. */
  get givesRooms(): boolean {
    return mentions(this.#options.emit.args, '$room');
  }

  /**
   * Examples of acknowledgements of published events: the first different values, with the number of times that each
   * was received.
   */
  get acknowledged(): ReceivedAck[] {
    return [...this.#acknowledged].map(([text, count]) => ({ text, count }));
  }

  /** Number of requested acknowledgements, and number of missing acknowledgements. */
  get unacknowledged(): UnacknowledgedEvent {
    const [asked, missing] = [this.#ackRequests, this.#ackRequests - this.#ackCount];
    return { asked, missing, isExpected: this.#isExpected };
  }

  /**
   * Publishes one test event before the load.
   * @param asks whether to request an acknowledgement, unless the options forbid it; if one arrives, later events also
   * request acknowledgements
   * @param name last part of the event's id
   * @returns the id; undefined if the connection is closed
   */
  publishTrial({ socket }: ConnectedClient, room: string, asks: boolean, name = 'trial'): string | undefined {
    const id = `${this.prefix}${name}`;
    const isAsked = this.#asks || (asks && this.#options.acknowledge !== false);
    const onAck = isAsked ? () => (this.#asks = true) : undefined;
    return this.#emit(socket, { id, room, sentAt: Date.now() }, onAck) ? id : undefined;
  }

  /**
   * Publishes all events on a fixed schedule.
   * @param onFailed called for each event whose publisher is disconnected
   * @param places namespaces and rooms; if the run chooses rooms, it publishes to these in turn
   */
  async publish(
    onSent: (sent: PublishedEvent) => void,
    onFailed: (seq: number, socket: RunSocket) => void,
    signal: AbortSignal,
    places: string[] = [],
  ): Promise<void> {
    const { count, every, users } = this.#options;
    const roomsOf = new Map(this.clients.map(({ socket }) => [socket, roomsFor(socket.target.namespace, places)]));
    const send = (seq: number, intendedAtUs: number) => {
      const [id, sentAt, emittedAtUs] = [`${this.prefix}${seq}`, Date.now(), monotonicUs()];
      const { socket } = this.clients[(seq - 1) % users] as ConnectedClient;
      const rooms = roomsOf.get(socket) ?? [];
      const room = (this.givesRooms && rooms[(seq - 1) % rooms.length]) || ALL_RECEIVERS_ROOM;
      const counted = ownBroadcastKey({ namespace: socket.target.namespace, room, id });
      const onAck = this.#asks ? (answer: unknown[]) => this.#noteAck(answer) : undefined;
      if (this.#emit(socket, { id, room, sentAt }, onAck)) {
        if (onAck) this.#ackRequests++;
        onSent({ seq, id, room, countedAs: counted, sentAt, emittedAtUs, intendedAtUs });
      } else onFailed(seq, socket);
    };
    await sendOnSchedule({ count, intervalMs: every * 1000, leadMs: LEAD_MS, aheadMs: 0 }, send, signal);
  }

  /** Idempotent. */
  close(): void {
    for (const { socket } of this.clients) void socket.disconnect();
  }

  /**
   * Emits an event.
   * @returns false if the publisher is not connected; the event is not emitted then, because socket.io-client would
   * buffer it
   */
  #emit(socket: RunSocket, values: Values, onAck: ((answer: unknown[]) => void) | undefined): boolean {
    if (!socket.connected) return false;
    this.#listenTo(socket);
    const { event, args } = this.#options.emit;
    const filled = args.map((value) => fill(value, values));
    // The promise rejects if the publisher's connection closes. That close is recorded elsewhere.
    if (onAck) socket.ask(event, filled).then(onAck, () => {});
    else socket.emit(event, filled);
    return true;
  }

  #listenTo(socket: RunSocket): void {
    if (this.#listening.has(socket)) return;
    this.#listening.add(socket);
    let events = 0;
    const stop = socket.on(ANY_EVENT, (args, { event }) => {
      if (++events >= MAX_EVENTS) stop();
      if (this.received.length >= MAX_RECEIVED || this.received.some((known) => known.event === event)) return;
      const text = printableLine(args.map((arg) => JSON.stringify(arg)).join(','), MAX_TEXT_LENGTH);
      this.received.push({ event, text });
    });
  }

  #noteAck(answer: unknown[]): void {
    this.#ackCount++;
    countAckError(this.ackErrors, answer);
    const text = printableLine(JSON.stringify(answer.length === 1 ? answer[0] : answer) ?? '', MAX_TEXT_LENGTH);
    const count = this.#acknowledged.get(text) ?? 0;
    if (count > 0 || this.#acknowledged.size < MAX_ACKNOWLEDGED) this.#acknowledged.set(text, count + 1);
  }
}

interface Values {
  id: string;
  sentAt: number;
  room: string;
}

/**
 * Replaces placeholders. A string that consists of one placeholder becomes the value itself, so that a time stays a
 * number.
 */
function fill(value: unknown, values: Values): unknown {
  if (value === '$id') return values.id;
  if (value === '$sentAt') return values.sentAt;
  if (typeof value === 'string') return value.replace(PLACEHOLDER, (_, name: keyof Values) => String(values[name]));
  if (Array.isArray(value)) return value.map((entry) => fill(entry, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fill(entry, values)]));
}

function mentions(args: unknown[], placeholder: string): boolean {
  return JSON.stringify(args).includes(placeholder);
}

/**
 * Returns the names of the rooms in the publisher's namespace. If there are none, returns all rooms, because the server
 * may use another namespace.
 */
function roomsFor(namespace: string, places: string[]): string[] {
  const all = places.map(parseRoomKey);
  const near = all.filter((place) => place.namespace === namespace);
  return [...new Set((near.length > 0 ? near : all).map(({ room }) => room))];
}
