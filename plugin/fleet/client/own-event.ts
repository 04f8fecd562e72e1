/** An event of the server's own that the ledger counts, where its copies are decoded whole. */
import { type JsonPath, valueAt } from '../../../protocol/json-path.ts';
import type { CountedEvent, OwnEventCopy } from './client.ts';

/** Which event, and where in its arguments its marks stand. */
export interface OwnEventPlan {
  event: string;
  /** Tells one broadcast from another. */
  id: JsonPath;
  sentAt: JsonPath | undefined;
  /** Length of the event's JSON, `["name",…]`; undefined where it is not checked. */
  bytes: number | undefined;
  /** Event whose acknowledgement makes a connection a receiver; undefined if all connections are. */
  join: string | undefined;
}

/** Longer ids would fill the memory: all of them are kept. */
const MAX_ID_LENGTH = 200;
const MAX_EXAMPLE_LENGTH = 300;

export function ownEvent(plan: OwnEventPlan): CountedEvent {
  return {
    name: plan.event,
    report(sink, client, args, receivedAtUs) {
      const id = idOf(valueAt(args, plan.id));
      if (id === undefined) sink.onUnreadable(client, exampleOf(plan.event, args));
      else sink.onOwnEvent(client, id, receivedAtUs, new DecodedCopy(plan, args));
    },
  };
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

class DecodedCopy implements OwnEventCopy {
  readonly #plan: OwnEventPlan;
  readonly #args: unknown[];

  constructor(plan: OwnEventPlan, args: unknown[]) {
    this.#plan = plan;
    this.#args = args;
  }

  bytes(): number {
    return Buffer.byteLength(JSON.stringify([this.#plan.event, ...this.#args]));
  }

  hasSize(size: number): boolean {
    return this.bytes() === size;
  }

  checksum(): number {
    return 0;
  }

  sentAt(): unknown {
    return this.#plan.sentAt && valueAt(this.#args, this.#plan.sentAt);
  }
}
