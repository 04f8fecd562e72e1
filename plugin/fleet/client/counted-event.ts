/** The event whose copies the ledger counts: the tool's own broadcast, or an event that the server sends by itself. */
import { crc32 } from 'node:zlib';
import {
  formatJsonPath,
  type JsonPath,
  PATH_WILDCARD,
  valueAtPath,
  valuesAtPath,
} from '../../../protocol/base/json-path.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import { ALL_RECEIVERS_ROOM, ownBroadcastKey } from '../../../protocol/wire/rooms.ts';
import type { ClientSink, EventCopy } from './client.ts';

/** Name of the counted event, and the paths of its id, room and payload in the arguments. */
export interface EventPlan {
  event: string;
  /** Path of the id that distinguishes broadcasts. */
  id: JsonPath;
  sentAt: JsonPath | undefined;
  /** Path of the broadcast's room in the event's arguments; undefined if there is only one room. */
  room?: JsonPath | undefined;
  /**
   * Path of the payload, for broadcasts that the run published: each copy's payload is checked. If undefined, the
   * length of the event's JSON is checked.
   */
  payload?: JsonPath;
}

export interface OwnEventPlan extends EventPlan {
  /** Length of the event's JSON, `["name",…]`; undefined if it is not checked. */
  bytes: number | undefined;
  /** Event whose acknowledgement makes a connection a receiver. Undefined if every connection is a receiver. */
  join: string | undefined;
  /**
   * Path of the room in the arguments of the join, or in its acknowledgement. Undefined if the rooms come from another
   * source.
   */
  roomInJoin?: JsonPath | undefined;
  /**
   * Time in microseconds after the opening of a connection, during which it does not yet count as a receiver. The
   * virtual user may still be joining its room. Used only if there is no join event.
   */
  settlingUs?: number | undefined;
}

/** The values of the option `delivery` that describe the counted event. */
interface OwnEventOptions extends Pick<OwnEventPlan, 'event' | 'id'> {
  sentAt?: JsonPath | undefined;
  bytes?: number | undefined;
  join?: string | undefined;
  audience?: { event: JsonPath; client: JsonPath | string } | undefined;
}

const SETTLING_US = 1e6;

/**
 * Returns the plan for counting the server's own event.
 * @param usersLeave whether broadcasts are counted while users connect and disconnect
 */
export function ownEventPlan(
  { event, id, sentAt, bytes, join, audience }: OwnEventOptions,
  usersLeave = false,
): OwnEventPlan {
  const roomInJoin = typeof audience?.client === 'string' ? undefined : audience?.client;
  const settlingUs = usersLeave ? SETTLING_US : undefined;
  return { event, id, sentAt, bytes, join, room: audience?.event, roomInJoin, settlingUs };
}

export const BROADCAST_EVENT_PLAN: EventPlan = {
  event: CONTRACT_EVENTS.broadcast,
  id: ['0', 'seq'],
  sentAt: undefined,
  payload: ['0', 'data'],
};

/** Longest accepted id of a broadcast. All ids are stored, so longer ids would fill the memory. */
const MAX_ID_LENGTH = 200;
const MAX_EXAMPLE_LENGTH = 300;
const NO_ID = [undefined];

/**
 * Reports a copy that was decoded completely. The official client decodes every copy; the
 * light client decodes only copies that it cannot read in place.
 */
export function reportCopy(
  plan: EventPlan,
  sink: ClientSink,
  { namespace, args, atUs }: { namespace: string; args: unknown[]; atUs: number },
): void {
  for (const [index, id] of countedIds(plan, namespace, args).entries()) {
    if (id === undefined) sink.onUnreadable(() => eventJson(plan, args));
    else sink.onCopy(id, atUs, new DecodedCopy(plan, args, index));
  }
}

/**
 * Returns the ids in a copy, each in the form that `countedId` returns. Returns a list with a single undefined for a
 * copy without ids.
 */
export function countedIds(plan: EventPlan, namespace: string, args: unknown[]): (string | number | undefined)[] {
  const ids = valuesAtPath(args, plan.id);
  const rooms = plan.room && valuesAtPath(args, plan.room);
  if (ids.length === 0) return NO_ID;
  // A copy with several ids has a room for each id, or a single room for all of them.
  return ids.map((id, index) =>
    countedId(plan, { namespace, id, room: rooms?.length === 1 ? rooms[0] : rooms?.[index] }),
  );
}

/**
 * Returns the id under which a copy is counted: a number for a broadcast that the run published, text for any other.
 * @param found values found in a copy; `room` only if the event goes to several rooms
 * @returns undefined if the id or the room is missing
 */
export function countedId(
  plan: EventPlan,
  found: { namespace: string; id: unknown; room?: unknown },
): string | number | undefined {
  if (plan.payload !== undefined) return typeof found.id === 'number' ? found.id : undefined;
  const id = parseEventId(found.id);
  const [room] = plan.room ? roomNames([found.room]) : [ALL_RECEIVERS_ROOM];
  if (id === undefined || room === undefined) return undefined;
  return ownBroadcastKey({ namespace: found.namespace, room, id });
}

/** Returns the values that can be room names, as text. */
export function roomNames(values: unknown[]): string[] {
  return values.map(parseEventId).filter((name) => name !== undefined && name !== ALL_RECEIVERS_ROOM) as string[];
}

/**
 * Returns values of a decoded copy that look like ids but are not the configured id, because they are at another index
 * of a list. Returns the path of each, with `*` in place of the index, and an example.
 */
export function findOtherIds({ id: path }: EventPlan, args: unknown[]): [path: string, id: string][] {
  const own = parseEventId(valueAtPath(args, path));
  // A path with `*` already selects every id in the list.
  if (own === undefined) return [];
  return path.flatMap((step, depth) => {
    if (!/^\d+$/.test(step)) return [];
    const open = path.with(depth, PATH_WILDCARD);
    const other = valuesAtPath(args, open)
      .map(parseEventId)
      .find((id) => id !== undefined && id !== own);
    return other === undefined ? [] : [[formatJsonPath(open), other] as [string, string]];
  });
}

/**
 * Returns the value as an id. Returns undefined unless it is a string or a number. A whole number above 2^53 is no id:
 * JavaScript rounds it, so two broadcasts could share one id.
 */
export function parseEventId(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH ? value : undefined;
}

/**
 * Returns the beginning of a received event, as an example for an error message.
 * @param json JSON of the event
 */
export function eventExample(json: string): string {
  return printableLine(json, MAX_EXAMPLE_LENGTH);
}

/** Returns the event as JSON, without binary data. */
export function eventJson({ event }: Pick<EventPlan, 'event'>, args: unknown[]): string {
  return JSON.stringify([event, ...args], (_key, value) => (ArrayBuffer.isView(value) ? '(binary)' : value));
}

export class DecodedCopy implements EventCopy {
  readonly #plan: EventPlan;
  readonly #args: unknown[];
  readonly #index: number;
  readonly #bytes: number | undefined;
  #attached: Uint8Array | undefined = undefined;

  /**
   * Creates a copy from decoded arguments.
   * @param index position among the ids of a copy with several ids
   * @param bytes length of the event's JSON; undefined if unknown
   */
  constructor(plan: EventPlan, args: unknown[], index: number, bytes?: number) {
    this.#plan = plan;
    this.#args = args;
    this.#index = index;
    this.#bytes = bytes;
  }

  bytes(): number {
    return this.#bytes ?? Buffer.byteLength(JSON.stringify([this.#plan.event, ...this.#args]));
  }

  hasSize(size: number): boolean {
    return (this.#plan.payload ? this.#payload()?.length : this.bytes()) === size;
  }

  checksum(): number {
    return crc32(this.#payload() ?? '');
  }

  /**
   * Returns the copy with another payload.
   * @param payload valid only during the report
   */
  withPayload(payload: Uint8Array): DecodedCopy {
    const copy = new DecodedCopy(this.#plan, this.#args, this.#index, payload.length);
    copy.#attached = payload;
    return copy;
  }

  sentAt(): unknown {
    const times = this.#plan.sentAt ? valuesAtPath(this.#args, this.#plan.sentAt) : [];
    return times.length === 1 ? times[0] : times[this.#index];
  }

  otherIds(): [path: string, id: string][] {
    return findOtherIds(this.#plan, this.#args);
  }

  #payload(): string | Uint8Array | undefined {
    const data = this.#attached ?? (this.#plan.payload && valueAtPath(this.#args, this.#plan.payload));
    return typeof data === 'string' || data instanceof Uint8Array ? data : undefined;
  }
}
