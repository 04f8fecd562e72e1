/**
 * An event that many connections receive with the same bytes. Only the first copy is decoded; further copies are
 * reported without reading them.
 */
import { isDeepStrictEqual } from 'node:util';
import { valueAtPath } from '../../../../protocol/base/json-path.ts';
import type { ClientSink } from '../../client/client.ts';
import { countedIds, DecodedCopy, type EventPlan, eventJson } from '../../client/counted-event.ts';
import type { SeenEvent } from '../../client/seen-events.ts';
import { recoveryOffsetOf } from '../socket-io/packet-head.ts';

const PLACEHOLDER = { _placeholder: true, num: 0 };

export class KnownEvent {
  readonly name: string;
  readonly seen: SeenEvent;
  /** Offset for connection state recovery: the server appends it to every event. */
  readonly offset: string | undefined;
  /** Plan of the counted event; undefined if this event is not counted. */
  readonly #plan: EventPlan | undefined;
  readonly #args: unknown[];
  readonly #sizeBytes: number;
  #namespace: string | undefined = undefined;
  /** Copies of the counted event to report whenever the event arrives, each with its id. */
  #copies: [id: string | number | undefined, copy: DecodedCopy][] = [];

  /**
   * Creates an event from its first copy.
   * @param sizeBytes length of the event's JSON
   * @param seen entry for the event's name
   * @param counted the event that the ledger counts
   */
  constructor(name: unknown, args: unknown[], sizeBytes: number, seen: SeenEvent, counted: EventPlan | undefined) {
    this.name = String(name);
    this.seen = seen;
    this.offset = recoveryOffsetOf([name, ...args]);
    this.#plan = counted?.event === this.name ? counted : undefined;
    this.#args = this.#plan ? args : [];
    this.#sizeBytes = sizeBytes;
  }

  /**
   * Keeps the start of the event for reports on closed connections. A counted event is not kept, because it cannot
   * explain a close.
   */
  remember(bytes: Buffer, json: number, end: number): void {
    if (this.#plan === undefined) this.seen.keepOnce(this, bytes, json + this.seen.head.length, end);
  }

  get isCounted(): boolean {
    return this.#plan !== undefined;
  }

  /**
   * Reports the copies of the event.
   * @param payload attachment that replaces the payload
   */
  report(sink: ClientSink, namespace: string, receivedAtUs: number, payload?: Uint8Array): void {
    if (namespace !== this.#namespace) this.#identify(namespace);
    for (const [id, copy] of this.#copies) {
      if (id === undefined) sink.onUnreadable(this.#json);
      else sink.onCopy(id, receivedAtUs, payload ? copy.withPayload(payload) : copy);
    }
  }

  /** Whether the payload is a binary attachment. */
  get isAttached(): boolean {
    const { payload } = this.#plan ?? {};
    return payload !== undefined && isDeepStrictEqual(valueAtPath(this.#args, payload), PLACEHOLDER);
  }

  #identify(namespace: string): void {
    const plan = this.#plan;
    if (plan === undefined) return;
    const copyAt = (index: number) => new DecodedCopy(plan, this.#args, index, this.#sizeBytes);
    this.#copies = countedIds(plan, namespace, this.#args).map((id, index) => [id, copyAt(index)]);
    this.#namespace = namespace;
  }

  readonly #json = () => eventJson({ event: this.name }, this.#args);
}
