/**
 * Names of the events that the clients of a process receive, and the beginning of the last event of each name. Clients
 * share these objects, so remembering each client's last event takes a single reference.
 */

/** Largest number of names with an entry; further names share a single entry without a name. */
const MAX_NAMES = 64;
const MAX_TEXT_BYTES = 300;
const MAX_NAME_LENGTH = 100;
/** Largest number of values kept of a decoded event. */
const MAX_VALUES = 5;

export class SeenEvent {
  readonly name: string;
  /** Beginning of the event's JSON. */
  readonly head: Buffer;
  /** Traffic of the client that received the last event of this name. */
  receiver: object | undefined = undefined;
  readonly #text = Buffer.alloc(MAX_TEXT_BYTES);
  #length = 0;
  /** Source of the bytes in `#text`; undefined for a single event. */
  #source: object | undefined = undefined;

  constructor(name: string) {
    this.name = name;
    this.head = Buffer.from(`[${JSON.stringify(name)}`);
  }

  /** @param end end of the packet `["name",…]`; the bytes after the name are kept */
  keep(bytes: Buffer, start: number, end: number, source?: object): void {
    this.#source = source;
    this.#length = bytes.copy(this.#text, 0, Math.min(start, end), Math.max(start, end - 1));
  }

  /** Keeps bytes that are the same for every event of this source, once. @param source owner of the bytes */
  keepOnce(source: object, bytes: Buffer, start: number, end: number): void {
    if (this.#source !== source) this.keep(bytes, start, end, source);
  }

  /** Returns the beginning of the arguments as JSON, if the receiver got the last event of this name; otherwise ''. */
  textOf(receiver: object): string {
    if (this.receiver !== receiver) return '';
    return this.#text.toString('utf8', 0, this.#length).replace(/^[\s,]+/, '');
  }
}

export class SeenEvents {
  readonly #all: SeenEvent[] = [];
  readonly #others = new SeenEvent('');
  #last = this.#others;

  /** @param json start of the packet's JSON */
  inPlace(bytes: Buffer, json: number, end: number): SeenEvent {
    const event = this.of(bytes, json, end);
    event.keep(bytes, json + event.head.length, end);
    return event;
  }

  /** Returns the entry of the event's name without keeping the event's text. */
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

/** Returns the beginning of a value as JSON. Only strings and numbers are written, because the rest could be large. */
function brief(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_TEXT_BYTES));
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(ArrayBuffer.isView(value) ? {} : value).slice(0, MAX_VALUES);
  const texts = entries.map(([key, one]) => `${JSON.stringify(key)}:${typeof one === 'object' ? '…' : brief(one)}`);
  return `{${texts.join(',')}}`;
}

/** Returns the event's name; undefined if it is long or written with escapes. */
function nameIn(bytes: Buffer, json: number, end: number): string | undefined {
  const text = bytes.toString('utf8', json, Math.min(end, json + 4 * MAX_NAME_LENGTH));
  return /^\["([^"\\]*)"/.exec(text)?.[1];
}
