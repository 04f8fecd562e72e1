/** The cookies of one polling session: a proxy in front of several servers uses them to find the right one again. */
export class CookieJar {
  /** The request header with a line break before it; '' without cookies. */
  line: string;
  readonly #own: string;
  /** By name; undefined as long as the server has given out none. */
  #kept: Map<string, string> | undefined = undefined;

  /** @param own the user's own `Cookie` header; '' for none */
  constructor(own: string) {
    this.#own = own;
    this.line = own === '' ? '' : `\r\nCookie: ${own}`;
  }

  /** @param cookies values of `Set-Cookie` */
  keep(cookies: readonly string[]): void {
    if (cookies.length === 0) return;
    this.#kept ??= new Map(this.#own.split(/; */).map((pair) => [nameOf(pair), pair]));
    for (const cookie of cookies) {
      const [pair = '', ...attributes] = cookie.split(';');
      const name = nameOf(pair);
      if (name === '' || pair.length > MAX_COOKIE_LENGTH || CONTROL.test(pair)) continue;
      if (attributes.some(hasExpired)) this.#kept.delete(name);
      else if (this.#kept.size < MAX_COOKIES || this.#kept.has(name)) this.#kept.set(name, pair.trim());
    }
    const all = [...this.#kept.values()].filter((one) => one !== '');
    this.line = all.length === 0 ? '' : `\r\nCookie: ${all.join('; ')}`;
  }
}

/** As many as a browser keeps for a site, at least. */
const MAX_COOKIES = 50;
const MAX_COOKIE_LENGTH = 4096;
/** A bare line feed would begin another header for whoever reads leniently. */
const CONTROL = /\p{Cc}/u;

function nameOf(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf('='))).trim();
}

function hasExpired(attribute: string): boolean {
  const [name = '', value = ''] = attribute.split('=').map((part) => part.trim());
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0;
  return name.toLowerCase() === 'expires' && Date.parse(value) <= Date.now();
}
