/** Cookies of a polling session. Proxies set them for sticky routing. */
export class CookieJar {
  /** `Cookie` header with a line break before it; '' without cookies. */
  line: string;
  readonly #own: string;
  /** Cookies from the server by name; undefined until the server sets a cookie. */
  #kept: Map<string, string> | undefined = undefined;

  /**
   * Creates a jar without cookies from the server.
   * @param own the user's `Cookie` header; '' for none
   */
  constructor(own: string) {
    this.#own = own;
    this.line = own === '' ? '' : `\r\nCookie: ${own}`;
  }

  /**
   * Stores cookies of a response.
   * @param cookies values of `Set-Cookie`
   */
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
    const all = [...this.#kept.values()].filter((cookie) => cookie !== '');
    this.line = all.length === 0 ? '' : `\r\nCookie: ${all.join('; ')}`;
  }
}

/** Largest number of stored cookies. Browsers store at least 50 for each site. */
const MAX_COOKIES = 50;
const MAX_COOKIE_LENGTH = 4096;
/**
 * Matches control characters, which are not allowed in cookies: servers could read a line feed as the start of another
 * header.
 */
const CONTROL = /\p{Cc}/u;

function nameOf(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf('='))).trim();
}

function hasExpired(attribute: string): boolean {
  const [name = '', value = ''] = attribute.split('=').map((part) => part.trim());
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0;
  return name.toLowerCase() === 'expires' && Date.parse(value) <= Date.now();
}
