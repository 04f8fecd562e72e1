/**
 * Connections of the run that make a server of somebody else's broadcast. They are none of the scenario's, so no ledger
 * counts what they receive: it does not matter whether the server sends a broadcast back to its publisher.
 */
import { randomBytes } from 'node:crypto';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { printable } from '../../../protocol/base/printable.ts';
import { countedAs, readPlace } from '../../../protocol/wire/counted-as.ts';
import { AUDIENCE } from '../../../protocol/wire/rooms.ts';
import { countAckError } from '../../fleet/client/ack-errors.ts';
import { ANY } from '../../fleet/fleet-messages.ts';
import type { PublishOptions } from '../../script/options/delivery-options.ts';
import { onSchedule } from '../broadcasts/publish.ts';
import { connectFirstAccepted } from './connect-client.ts';
import type { RunClients } from './run-clients.ts';
import type { ConnectedClient, RunSocket } from './run-connection.ts';

/** Times on CLOCK_MONOTONIC. */
export interface Published {
  /** From 1. */
  seq: number;
  id: string;
  /** That it goes to; `''` if there is only one. */
  room: string;
  /** As the ledgers have it, if the server sends it in the namespace of its publisher. */
  countedAs: string;
  emittedAtUs: number;
  intendedAtUs: number;
  /** As it stands in the payload. */
  sentAt: number;
}

/** Equal acknowledgements of the server. */
export interface Acknowledged {
  /** JSON of what it acknowledged with: the value, or a list if there are several. */
  text: string;
  count: number;
}

/** The first event of a name that a publisher received after it had published. */
export interface ReceivedByPublisher {
  event: string;
  /** Beginning of its arguments, as JSON. */
  text: string;
}

export interface Unacknowledged {
  asked: number;
  missing: number;
  /** The option or a scenario says that the server acknowledges the event. */
  isExpected: boolean;
}

const MAX_ACKNOWLEDGED = 5;
const MAX_TEXT_LENGTH = 200;
const MAX_HEARD = 5;
/** Events of one publisher that are looked at. */
const MAX_EVENTS = 100;

/** In which the publishers of one run start. */
const LEAD_MS = 200;
const PLACEHOLDER = /\$(id|sentAt|room)\b/g;

/** `hasRooms`: the event goes to rooms. */
type Options = PublishOptions & { hasRooms?: boolean };

export class Publishers {
  /** In the order of their turns. */
  readonly came: readonly ConnectedClient[];
  readonly #options: Options;
  /** Before the number in each id, which no other run has: short, as servers cut texts. */
  readonly prefix = `run-${randomBytes(4).toString('hex')}-`;
  #asks: boolean;
  readonly #isExpected: boolean;
  readonly #acknowledged = new Map<string, number>();
  readonly ackErrors: Record<string, number> = {};
  readonly #listening = new Set<RunSocket>();
  /** What the server sent them beside acknowledgements, since they publish. */
  readonly heard: ReceivedByPublisher[] = [];
  #asked = 0;
  #answered = 0;

  /** @param asks whether the option or a scenario asks for acknowledgements; undefined if neither says */
  private constructor(options: Options, came: ConnectedClient[], asks: boolean | undefined) {
    this.#options = options;
    this.#asks = asks ?? true;
    this.#isExpected = asks === true;
    this.came = came;
  }

  /**
   * @throws Refused; CapacityError TARGET_UNREACHABLE, or the signal's reason
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
    const came = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const publishers = new Publishers(options, came, options.acknowledge ?? clients.asksFor(options.emit.event));
    const failed = opened.find((one) => one.status === 'rejected');
    if (failed) {
      publishers.close();
      throw failed.reason;
    }
    return publishers;
  }

  get connected(): number {
    return this.came.filter(({ socket }) => socket.connected).length;
  }

  /** Whether a broadcast is known by what the run sends, and so missed if nobody gets it. */
  get givesIds(): boolean {
    const { args } = this.#options.emit;
    return mentions(args, '$id') && (!this.#options.hasRooms || mentions(args, '$room'));
  }

  /** Whether the run decides where a broadcast goes. */
  get givesRooms(): boolean {
    return mentions(this.#options.emit.args, '$room');
  }

  /** The first different acknowledgements of what `publish` has emitted so far. */
  get acknowledged(): Acknowledged[] {
    return [...this.#acknowledged].map(([text, count]) => ({ text, count }));
  }

  /** How many events of `publish` asked for an acknowledgement, and how many of them have none yet. */
  get unacknowledged(): Unacknowledged {
    return { asked: this.#asked, missing: this.#asked - this.#answered, isExpected: this.#isExpected };
  }

  /**
   * One outside the schedule, by one of them.
   * @param asks ask for an acknowledgement, unless the options forbid it; if one comes, the schedule asks for them, too
   * @param name at the end of its id
   * @returns its id; undefined if its connection has ended
   */
  publishTrial({ socket }: ConnectedClient, room: string, asks: boolean, name = 'trial'): string | undefined {
    const id = `${this.prefix}${name}`;
    const isAsked = this.#asks || (asks && this.#options.acknowledge !== false);
    const onAck = isAsked ? () => (this.#asks = true) : undefined;
    return this.#emit(socket, { id, room, sentAt: Date.now() }, onAck) ? id : undefined;
  }

  /**
   * On an absolute schedule.
   * @param places whose rooms the broadcasts go to in turn, where the run decides
   * @returns what was sent; the rest, and why not, goes to `onFailed`
   */
  async publish(
    onSent: (sent: Published) => void,
    onFailed: (seq: number, socket: RunSocket) => void,
    signal: AbortSignal,
    places: string[] = [],
  ): Promise<void> {
    const { count, every, users } = this.#options;
    const roomsOf = new Map(this.came.map(({ socket }) => [socket, roomsFor(socket.target.namespace, places)]));
    const send = (seq: number, intendedAtUs: number) => {
      const [id, sentAt, emittedAtUs] = [`${this.prefix}${seq}`, Date.now(), monotonicUs()];
      const { socket } = this.came[(seq - 1) % users] as ConnectedClient;
      const rooms = roomsOf.get(socket) ?? [];
      const room = (this.givesRooms && rooms[(seq - 1) % rooms.length]) || AUDIENCE;
      const counted = countedAs({ namespace: socket.target.namespace, room, id });
      const onAck = this.#asks ? (answer: unknown[]) => this.#note(answer) : undefined;
      if (this.#emit(socket, { id, room, sentAt }, onAck)) {
        if (onAck) this.#asked++;
        onSent({ seq, id, room, countedAs: counted, sentAt, emittedAtUs, intendedAtUs });
      } else onFailed(seq, socket);
    };
    await onSchedule({ count, intervalMs: every * 1000, leadMs: LEAD_MS, aheadMs: 0 }, send, signal);
  }

  /** Idempotent. */
  close(): void {
    for (const { socket } of this.came) void socket.disconnect();
  }

  /** @returns false if the publisher is not connected: the client would keep the event and send it later */
  #emit(socket: RunSocket, values: Values, onAck: ((answer: unknown[]) => void) | undefined): boolean {
    if (!socket.connected) return false;
    this.#listenTo(socket);
    const { event, args } = this.#options.emit;
    const filled = args.map((value) => fill(value, values));
    // The end of a publisher is noted by itself.
    if (onAck) socket.ask(event, filled).then(onAck, () => {});
    else socket.emit(event, filled);
    return true;
  }

  #listenTo(socket: RunSocket): void {
    if (this.#listening.has(socket)) return;
    this.#listening.add(socket);
    let events = 0;
    const stop = socket.on(ANY, (args, { event }) => {
      if (++events >= MAX_EVENTS) stop();
      if (this.heard.length >= MAX_HEARD || this.heard.some((one) => one.event === event)) return;
      this.heard.push({ event, text: printable(args.map((one) => JSON.stringify(one)).join(','), MAX_TEXT_LENGTH) });
    });
  }

  #note(answer: unknown[]): void {
    this.#answered++;
    countAckError(this.ackErrors, answer);
    const text = printable(JSON.stringify(answer.length === 1 ? answer[0] : answer) ?? '', MAX_TEXT_LENGTH);
    const count = this.#acknowledged.get(text) ?? 0;
    if (count > 0 || this.#acknowledged.size < MAX_ACKNOWLEDGED) this.#acknowledged.set(text, count + 1);
  }
}

interface Values {
  id: string;
  sentAt: number;
  room: string;
}

/** A text that is nothing but a placeholder becomes the value itself, so that the time can be a number. */
function fill(value: unknown, values: Values): unknown {
  if (value === '$id') return values.id;
  if (value === '$sentAt') return values.sentAt;
  if (typeof value === 'string') return value.replace(PLACEHOLDER, (_, name: keyof Values) => String(values[name]));
  if (Array.isArray(value)) return value.map((one) => fill(one, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, values)]));
}

function mentions(args: unknown[], placeholder: string): boolean {
  return JSON.stringify(args).includes(placeholder);
}

/** @returns names of those in the namespace of a publisher; of all, if none is there: the server may send elsewhere */
function roomsFor(namespace: string, places: string[]): string[] {
  const all = places.map(readPlace);
  const near = all.filter((place) => place.namespace === namespace);
  return [...new Set((near.length > 0 ? near : all).map(({ room }) => room))];
}
