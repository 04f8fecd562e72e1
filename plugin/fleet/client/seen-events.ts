/**
 * Keeps the names of the events that the clients of a process receive, and the beginning of the last event with each
 * name. All clients of a process share these entries, so a client stores only a reference to the entry of its last
 * event.
 */

/** Largest number of event names with a separate entry. All further names share an entry without a name. */
const MAX_NAMES = 64;
const MAX_TEXT_BYTES = 300;
const MAX_NAME_LENGTH = 100;
/** Largest number of values that are kept from a decoded event. */
const MAX_VALUES = 5;

export class SeenEvent {
  readonly name: string;
  /** Beginning of the event's JSON. */
  readonly head: Buffer;
  /** Traffic of the client that received the last event of this name. */
  receiver: object | undefined = undefined;
  readonly #text = Buffer.alloc(MAX_TEXT_BYTES);
  #length = 0;
  /** Object that identifies the bytes in `#text`, if many events have the same bytes. Undefined for a single event. */
  #source: object | undefined = undefined;

  constructor(name: string) {
    this.name = name;
    this.head = Buffer.from(`[${JSON.stringify(name)}`);
  }

  /**
   * Keeps the bytes as the event's text.
   * @param start position of the first byte
   * @param end end of the packet `["name",…]`
   */
  keep(bytes: Buffer, start: number, end: number, source?: object): void {
    this.#source = source;
    this.#length = bytes.copy(this.#text, 0, Math.min(start, end), Math.max(start, end - 1));
  }

  /**
   * Keeps the bytes, unless they are kept already.
   * @param source object that identifies the bytes
   */
  keepOnce(source: object, bytes: Buffer, start: number, end: number): void {
    if (this.#source !== source) this.keep(bytes, start, end, source);
  }

  /** Returns the start of the last event's arguments as JSON; '' if another client received that event. */
  textOf(receiver: object): string {
    if (this.receiver !== receiver) return '';
    return this.#text.toString('utf8', 0, this.#length).replace(/^[\s,]+/, '');
  }
}

export class SeenEvents {
  readonly #all: SeenEvent[] = [];
  readonly #others = new SeenEvent('');
  #last = this.#others;

  /**
   * Keeps the text of an event that is not decoded.
   * @param json start of the packet's JSON
   */
  inPlace(bytes: Buffer, json: number, end: number): SeenEvent {
    const event = this.of(bytes, json, end);
    event.keep(bytes, json + event.head.length, end);
    return event;
  }

  /** Returns the entry for the event's name. Does not keep the event's text. */
  of(bytes: Buffer, json: number, end: number): SeenEvent {
    this.#last = this.#find(bytes, json, end) ?? this.named(nameIn(bytes, json, end));
    return this.#last;
  }

  decoded(name: string, args: unknown[]): SeenEvent {
    const event = this.named(name);
    const text = Buffer.from(`${args.slice(0, MAX_VALUES).map(brief).join(',')} `);
    event.keep(text, 0, text.length);
    return event;
  }

  named(name: string | undefined): SeenEvent {
    if (name === undefined || name.length > MAX_NAME_LENGTH) return this.#others;
    const known = this.#all.find((one) => one.name === name);
    if (known || this.#all.length === MAX_NAMES) return known ?? this.#others;
    const event = new SeenEvent(name);
    this.#all.push(event);
    return event;
  }

  #find(bytes: Buffer, json: number, end: number): SeenEvent | undefined {
    if (begins(this.#last, bytes, json, end)) return this.#last;
    for (const one of this.#all) if (begins(one, bytes, json, end)) return one;
    return undefined;
  }
}

function begins({ name, head }: SeenEvent, bytes: Buffer, json: number, end: number): boolean {
  if (name === '' || end - json < head.length) return false;
  for (let at = 0; at < head.length; at++) if (bytes[json + at] !== head[at]) return false;
  return true;
}

/** Returns the start of a value as JSON. Nested objects are replaced by `…`, because they could be large. */
function brief(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_TEXT_BYTES));
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(ArrayBuffer.isView(value) ? {} : value).slice(0, MAX_VALUES);
  const texts = entries.map(([key, one]) => `${JSON.stringify(key)}:${typeof one === 'object' ? '…' : brief(one)}`);
  return `{${texts.join(',')}}`;
}

/** Returns the event's name. Returns undefined if the name is long or contains escapes. */
function nameIn(bytes: Buffer, json: number, end: number): string | undefined {
  const text = bytes.toString('utf8', json, Math.min(end, json + 4 * MAX_NAME_LENGTH));
  return /^\["([^"\\]*)"/.exec(text)?.[1];
}
