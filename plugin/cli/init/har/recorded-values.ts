/**
 * Finds values that the server created, such as tokens, and where the client sent them later. They become captures and
 * templates of the scenario.
 */

import { formatJsonPath, valueAtPath } from '../../../../protocol/base/json-path.ts';
import { isSecretName } from '../../../../protocol/base/secrets/secret-text.ts';
import { tryOrUndefined } from '../../../../protocol/base/try-or-undefined.ts';
import { leafPaths } from '../../../run/broadcasts/find-paths.ts';
import { escapeTemplates, type HarEntry } from './har-file.ts';
import type { RecordedPacket } from './recorded-connections.ts';

/** A value that the server sent to the client, with the place where it was sent. */
interface Origin {
  atMs: number;
  value: string;
  /** Preferred name of the variable that holds the value in a flow. */
  name: string;
  /** HTTP response or Socket.IO packet that contained the value. */
  from: HarEntry | RecordedPacket;
  /** Entry of `capture` that selects the value, without `as`. */
  capture: object;
}

interface Sent {
  atMs: number;
  /** Request that sends the value. Its own response is ignored. */
  by?: HarEntry;
  isEvent?: boolean;
}

/** Matches values that look like a token or an id: at least 8 characters, with a digit. */
const OPAQUE = /^(?=.*\d)[\w.:+/=~-]{8,}$/;
const MIN_OPAQUE_LENGTH = 20;
const MIN_SECRET_LENGTH = 4;
const MAX_LENGTH = 10_000;
/** Length from which a value is also searched for inside longer texts. A shorter value could match by chance. */
const MIN_PART_LENGTH = 12;
const MAX_ORIGINS = 20_000;
/** Matches a key that needs no quotes in JSONPath. */
const PLAIN_KEY = /^[\w-]+$/;
const FIELD = /<(input|meta)\b[^>]*>/gi;
const ATTRIBUTE = /([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;
const MAX_FIELDS = 500;

/** Returns whether a value looks like a token or an id, not like a word. */
export function isOpaqueValue(value: string, key = ''): boolean {
  if (value.length > MAX_LENGTH || /\s/.test(value)) return false;
  return (
    OPAQUE.test(value) || value.length >= MIN_OPAQUE_LENGTH || (isSecretName(key) && value.length >= MIN_SECRET_LENGTH)
  );
}

/** Placeholder that stands for a template while the rest of the text is escaped. */
const PLACE = '\u{e000}';

export class RecordedValues {
  readonly #origins: Origin[];
  readonly #login: HarEntry | undefined;
  readonly #used = new Map<Origin, string>();

  /**
   * Collects the values that the server sent.
   * @param received HTTP responses, and packets with arguments from the server
   * @param login request of the login
   */
  constructor(received: (HarEntry | RecordedPacket)[], login: HarEntry | undefined) {
    this.#login = login;
    const origins = received.flatMap((from) => ('kind' in from ? inPacket(from) : inAnswer(from)));
    this.#origins = origins.sort((a, b) => a.atMs - b.atMs).slice(-MAX_ORIGINS);
  }

  /** Returns the responses and packets that contain values which the client sent later. */
  get used(): Set<Origin['from']> {
    return new Set([...this.#used.keys()].map(({ from }) => from));
  }

  capturesOf(from: Origin['from']): object[] {
    return [...this.#used].flatMap(([origin, as]) => (origin.from === from ? [{ ...origin.capture, as }] : []));
  }

  /** Returns a value that the client sent, with templates in place of values that the server had sent before. */
  filled<T>(value: T, sent: Sent): T {
    if (typeof value === 'string') return this.#filledText(value, sent) as T;
    if (Array.isArray(value)) return value.map((one) => this.filled(one, sent)) as T;
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inside]) => [escapeTemplates(name), this.filled(inside, sent)]),
    ) as T;
  }

  #filledText(text: string, { atMs, by, isEvent = false }: Sent): string {
    const earlier = this.#origins.filter(
      (origin) =>
        origin.atMs <= atMs && origin.from !== by && text.includes(origin.value) && !(isEvent && this.#isMade(origin)),
    );
    const found =
      earlier.findLast(({ value }) => value === text) ??
      earlier.findLast(({ value }) => value.length >= MIN_PART_LENGTH && value !== text);
    if (!found) return escapeTemplates(text);
    return escapeTemplates(text.replaceAll(found.value, PLACE)).replaceAll(PLACE, `{{ ${this.#variableFor(found)} }}`);
  }

  /**
   * Returns whether the value belongs to an object that the request created, such as a room. If each virtual user
   * created a room, it would be alone in it.
   */
  #isMade({ from, name }: Origin): boolean {
    if (!('method' in from) || from.method === 'GET' || from === this.#login) return false;
    // A request whose value is needed for the handshake counts as a login.
    return !isSecretName(name) && !this.used.has(from);
  }

  #variableFor(origin: Origin): string {
    const known = this.#used.get(origin);
    if (known) return known;
    const names = new Set(this.#used.values());
    const base = origin.name.replace(/\W+/g, '_').replace(/^(?=\d|$)/, 'value');
    const as = [base, ...Array.from({ length: names.size + 1 }, (_, index) => `${base}${index + 2}`)].find(
      (name) => !names.has(name),
    ) as string;
    this.#used.set(origin, as);
    return as;
  }
}

function inPacket(from: RecordedPacket): Origin[] {
  const args = (from.kind === 'event' ? (from.data as unknown[]).slice(1) : from.data) as unknown[];
  // Values in a list that is the only argument cannot be captured: `$.0` would select the list's first entry.
  if (!Array.isArray(args) || (args.length === 1 && Array.isArray(args[0]))) return [];
  return inJson(args).map((found) => ({ ...found, atMs: from.atMs, from }));
}

function inAnswer(from: HarEntry): Origin[] {
  const { status, text, content, headers } = from.response;
  if (status < 200 || status >= 400) return [];
  const inHeaders = headers.flatMap(({ name, value }) =>
    /cookie/i.test(name) || !isSecretName(name) || !isOpaqueValue(value)
      ? []
      : [{ value, name, capture: { header: name.toLowerCase() } }],
  );
  const body: unknown = tryOrUndefined(() => JSON.parse(text));
  const inBody =
    typeof body === 'object' && body !== null ? inJson(body) : /html/.test(content.mimeType) ? inHtml(text) : [];
  return [...inBody, ...inHeaders].map((found) => ({ ...found, atMs: from.endedAtMs, from }));
}

type Found = Pick<Origin, 'value' | 'name' | 'capture'>;

function inJson(body: object): Found[] {
  return leafPaths(body).flatMap((path) => {
    const value = valueAtPath(body, path);
    const name = path.findLast((step) => !/^\d+$/.test(step)) ?? 'value';
    if (typeof value !== 'string' || !isOpaqueValue(value, name) || !path.every((step) => PLAIN_KEY.test(step)))
      return [];
    return [{ value, name, capture: { json: formatJsonPath(path) } }];
  });
}

/** Finds values of hidden form fields and meta tags, such as CSRF tokens. */
function inHtml(text: string): Found[] {
  return [...text.matchAll(FIELD)].slice(0, MAX_FIELDS).flatMap(([tag, element = '']) => {
    const attributes = new Map(
      [...tag.matchAll(ATTRIBUTE)].map(([, name = '', ...values]) => [
        name.toLowerCase(),
        values.find((value) => value !== undefined) ?? '',
      ]),
    );
    const name = attributes.get('name') ?? '';
    const attr = element.toLowerCase() === 'meta' ? 'content' : 'value';
    const value = attributes.get(attr) ?? '';
    if (!PLAIN_KEY.test(name) || !isOpaqueValue(value, name)) return [];
    return [{ value, name, capture: { selector: `${element.toLowerCase()}[name="${name}"]`, attr } }];
  });
}
