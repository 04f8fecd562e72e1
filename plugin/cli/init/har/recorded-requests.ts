/**
 * Converts HTTP requests in a HAR file to steps of a flow: logins, and requests whose cookies or values the client used
 * later.
 */

import { isSecretName } from '../../../../protocol/base/secrets/secret-text.ts';
import { tryOrUndefined } from '../../../../protocol/base/try-or-undefined.ts';
import { firstHeader, type HarEntry, type NameValuePair } from './har-file.ts';
import { isEngineIoRequest, type RecordedConnection } from './recorded-connections.ts';
import type { RecordedValues } from './recorded-values.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const LOGIN_PATH = /log-?in|sign-?in|auth|session|token/i;
const NO_LOGIN_PATH = /log-?out|sign-?out/i;
const MAX_REQUESTS = 20;
/** Resolution of the request times in a HAR file, in milliseconds. */
export const HAR_CLOCK_MS = 1;
/** Matches names of headers that may affect the server's response. Excludes headers that every browser sends. */
const OWN_HEADER = /^(?!sec-|x-client-data|x-forwarded)(authorization|x-.+|.*(api|auth|csrf|xsrf|key|tenant|token).*)$/;
/** Matches names of login fields that are not secret. User names are not secret: they help to recognise the field. */
const SHOWN_FIELD = /user|name|mail|login|account|nick|room|lang|locale|grant|scope|client|type|remember|_?method$/i;
/**
 * Matches values that are not secret: an e-mail address, a GraphQL query, a switch, and a path or URL without a query. A
 * long segment may be a token.
 */
const SHOWN_VALUE =
  /^[^\s@]+@[^\s@]+\.[^\s@]+$|^\s*(query|mutation)\b[^{]*\{|^(https?:\/\/[\w.:-]+)?(\/[\w.-]{0,20})+$|^(on|yes|no|true|false|[01])$/;
/** Matches headers that older versions of Firefox write before the text of a form. */
const FORM_HEADERS = /^([\w-]+: [^\r\n]*\r\n)+\r\n/;
/** Matches names of cookies that load balancers and analytics set. */
const FOREIGN_COOKIE = /^(awsalb|aws-?alb|route|serverid|__cf|cf_|_ga|_gid|_pk_|io$)/i;

/** Returns the requests that may become steps. Leaves out scripts, images, CORS preflights and failed requests. */
export function stepRequestsIn(entries: HarEntry[]): HarEntry[] {
  return entries.filter(
    (entry) =>
      METHODS.includes(entry.method) &&
      /^http/.test(entry.url.protocol) &&
      !isEngineIoRequest(entry) &&
      entry.response.status >= 200 &&
      entry.response.status < 400,
  );
}

/** Returns the last login request before the connection was opened; undefined if there is none. */
export function loginBefore(requests: HarEntry[], { handshake }: RecordedConnection): HarEntry | undefined {
  const posts = requests.filter(({ method, startedAtMs }) => method === 'POST' && startedAtMs <= handshake.startedAtMs);
  const logins = posts.filter(({ url: { pathname } }) => !NO_LOGIN_PATH.test(pathname));
  return (
    logins.findLast((entry) => textsIn(fieldsOf(entry)).some(([name]) => isSecretName(name))) ??
    logins.findLast(({ url: { pathname } }) => LOGIN_PATH.test(pathname))
  );
}

/**
 * Returns the requests that set the connection's cookies, and its secret cookies that no response in the file has set.
 */
export function cookieOrigins(
  requests: HarEntry[],
  { handshake }: RecordedConnection,
): { origins: HarEntry[]; unknown: NameValuePair[] } {
  const cookies = cookiesOf(handshake).filter(({ name }) => !FOREIGN_COOKIE.test(name));
  const earlier = requests.filter(({ startedAtMs }) => startedAtMs <= handshake.startedAtMs);
  const found = cookies.map((cookie) => ({
    cookie,
    origin: earlier.findLast(({ response }) =>
      setCookies(response).some(({ name, value }) => name === cookie.name && value === cookie.value),
    ),
  }));
  return {
    origins: found.flatMap(({ origin }) => origin ?? []),
    unknown: found.flatMap(({ cookie, origin }) => (origin || !isSecretName(cookie.name) ? [] : [cookie])),
  };
}

function cookiesOf({ headers, cookies }: HarEntry): NameValuePair[] {
  const header = firstHeader(headers, 'cookie');
  return header === undefined ? cookies : header.split(/;\s*/).flatMap(cookieIn);
}

function setCookies({ headers, cookies }: HarEntry['response']): NameValuePair[] {
  const lines = headers.filter(({ name }) => /^set-cookie$/i.test(name)).flatMap(({ value }) => value.split('\n'));
  return lines.length === 0 ? cookies : lines.flatMap((line) => cookieIn(line.split(';')[0] ?? ''));
}

function cookieIn(text: string): NameValuePair[] {
  const [, name, value] = /^\s*([^=]+)=(.*?)\s*$/.exec(text) ?? [];
  return name === undefined ? [] : [{ name, value: value ?? '' }];
}

/** Returns the headers that may affect the server's response. */
export function ownHeaders({ headers }: HarEntry): Record<string, string> {
  const own = headers.filter(
    ({ name, value }) => OWN_HEADER.test(name.toLowerCase()) && !/cookie/i.test(name) && value,
  );
  const accept = firstHeader(headers, 'accept') ?? '';
  return Object.fromEntries([
    ...own.map(({ name, value }) => [name.toLowerCase(), value]),
    // Some frameworks answer a login with an HTML page unless the request accepts only JSON.
    ...(/^application\/json/.test(accept) ? [['accept', 'application/json']] : []),
  ]);
}

/** Returns the fields of a form or a JSON object; undefined for any other body. */
function fieldsOf({ postData }: HarEntry): Record<string, unknown> | undefined {
  if (!postData) return undefined;
  const { mimeType, text, params } = postData;
  if (/json/.test(mimeType)) {
    const body: unknown = tryOrUndefined(() => JSON.parse(text));
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : undefined;
  }
  if (/urlencoded/.test(mimeType)) {
    return Object.fromEntries(
      text ? new URLSearchParams(text.replace(FORM_HEADERS, '')) : params.map(({ name, value }) => [name, value]),
    );
  }
  return /multipart/.test(mimeType) && params.length > 0
    ? Object.fromEntries(params.map(({ name, value }) => [name, value]))
    : undefined;
}

/**
 * Adds all requests on which the given requests depend, because they send values from earlier responses.
 * @returns the requests, ordered by start time
 */
export function addOriginRequests(needed: Iterable<HarEntry>, values: RecordedValues, target: string): HarEntry[] {
  const all = new Set(needed);
  for (let before = -1; before < all.size && all.size < MAX_REQUESTS; ) {
    before = all.size;
    for (const entry of all) httpStepOf(entry, values, target);
    for (const from of values.used) if (!('kind' in from)) all.add(from);
  }
  return [...all].sort((a, b) => a.startedAtMs - b.startedAtMs).slice(-MAX_REQUESTS);
}

/**
 * Returns the step for a request.
 * @param target origin to which URLs are relative
 */
export function httpStepOf(entry: HarEntry, values: RecordedValues, target: string): Record<string, unknown> {
  const { method, url, startedAtMs, postData, response } = entry;
  const fields = fieldsOf(entry);
  const mimeType = postData?.mimeType ?? '';
  const body = fields
    ? { [/json/.test(mimeType) ? 'json' : /multipart/.test(mimeType) ? 'formData' : 'form']: fields }
    : postData?.text
      ? { body: postData.text }
      : {};
  const headers = { ...ownHeaders(entry), ...('body' in body && mimeType && { 'content-type': mimeType }) };
  const request = {
    url: url.origin === target ? `${url.pathname}${url.search}` : url.href,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...body,
  };
  const filled = values.filled(request, { atMs: startedAtMs + HAR_CLOCK_MS, by: entry });
  const captures = values.capturesOf(entry);
  return {
    [method.toLowerCase()]: {
      ...filled,
      // A redirect of a sent form is not followed, because Artillery would send the form again to the new location.
      ...(method !== 'GET' && response.status >= 300 && { followRedirect: false }),
      ...(captures.length > 0 && { capture: captures.length === 1 ? captures[0] : captures }),
    },
  };
}

/** Returns the values of a login that may be secret: all fields except those with known harmless names or values. */
export function secretsOfLogin(entry: HarEntry): string[] {
  return textsIn(fieldsOf(entry)).flatMap(([name, value]) =>
    value !== '' && (isSecretName(name) || !(SHOWN_FIELD.test(name) || SHOWN_VALUE.test(value))) ? [value] : [],
  );
}

/** Returns all texts in a value at any depth, each with its key. */
function textsIn(value: unknown, key = ''): [name: string, text: string][] {
  if (typeof value === 'string') return [[key, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => textsIn(inside, name));
}
