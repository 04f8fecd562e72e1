/** The event whose copies the ledger counts: the wire contract's broadcast, or one of the server's own. */
import { crc32 } from 'node:zlib';
import { EVENTS } from '../../../protocol/events.ts';
import { type JsonPath, valueAt } from '../../../protocol/json-path.ts';
import type { Client, ClientSink, Copy } from './client.ts';

/** Which event, and where in its arguments its marks stand. */
export interface EventPlan {
  event: string;
  /** Tells one broadcast from another. */
  id: JsonPath;
  sentAt: JsonPath | undefined;
  /** What is checked of each copy, where the run has ordered it, and numbered the broadcasts; otherwise the length of the JSON. */
  payload?: JsonPath;
}

export interface OwnEventPlan extends EventPlan {
  /** Length of the event's JSON, `["name",…]`; undefined where it is not checked. */
  bytes: number | undefined;
  /** Event whose acknowledgement makes a connection a receiver; undefined if all connections are. */
  join: string | undefined;
}

export const BROADCAST: EventPlan = {
  event: EVENTS.broadcast,
  id: ['0', 'seq'],
  sentAt: undefined,
  payload: ['0', 'data'],
};

/** Longer ids would fill the memory: all of them are kept. */
const MAX_ID_LENGTH = 200;
const MAX_EXAMPLE_LENGTH = 300;

/** Reports a copy that is decoded whole: the official client's, and those that cannot be read in place. */
export function reportCopy(plan: EventPlan, sink: ClientSink, client: Client, args: unknown[], atUs: number): void {
  const id = idIn(plan, valueAt(args, plan.id));
  if (id === undefined) sink.onUnreadable(client, exampleOf(plan.event, args));
  else sink.onCopy(client, id, atUs, new DecodedCopy(plan, args));
}

/** @returns a number for a broadcast that the run has numbered; undefined if it is no id */
export function idIn({ payload }: EventPlan, value: unknown): string | number | undefined {
  if (payload === undefined) return idOf(value);
  return typeof value === 'number' ? value : undefined;
}

/**
 * @returns undefined for anything but a string or a number, and for a whole number above 2^53: JavaScript rounds it, so that
 * two broadcasts would have one id
 */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH ? value : undefined;
}

/** What arrived, for the reader of an error. */
export function exampleOf(event: string, args: unknown[]): string {
  const json = JSON.stringify([event, ...args], (_key, value) => (ArrayBuffer.isView(value) ? '(binary)' : value));
  // A terminal must not obey what a server sends.
  const text = json.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
  return text.length > MAX_EXAMPLE_LENGTH ? `${text.slice(0, MAX_EXAMPLE_LENGTH)}…` : text;
}

class DecodedCopy implements Copy {
  readonly #plan: EventPlan;
  readonly #args: unknown[];

  constructor(plan: EventPlan, args: unknown[]) {
    this.#plan = plan;
    this.#args = args;
  }

  bytes(): number {
    return Buffer.byteLength(JSON.stringify([this.#plan.event, ...this.#args]));
  }

  hasSize(size: number): boolean {
    return (this.#plan.payload ? this.#payload()?.length : this.bytes()) === size;
  }

  checksum(): number {
    return crc32(this.#payload() ?? '');
  }

  sentAt(): unknown {
    return this.#plan.sentAt && valueAt(this.#args, this.#plan.sentAt);
  }

  #payload(): string | Uint8Array | undefined {
    const data = this.#plan.payload && valueAt(this.#args, this.#plan.payload);
    return typeof data === 'string' || data instanceof Uint8Array ? data : undefined;
  }
}
