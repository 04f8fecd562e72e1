/** Builds the WebSocket upgrade request and checks the response. */
import { hash, randomBytes } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import type { ClientOptions } from '../../client/client.ts';
import { DEFLATE_OFFER, type DeflateGrant, readDeflateGrant } from '../deflate/per-message-deflate.ts';
import { type ExpectedResponse, type HttpResponseHead, parseResponseHead } from '../http/http-response.ts';
import { webSocketError } from '../protocol-error.ts';

const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY_BYTES = 16;
/** Headers that the handshake sets. Users can set all other headers, including `Host`. */
const OWN_HEADERS = new Set([
  'upgrade',
  'connection',
  'sec-websocket-version',
  'sec-websocket-key',
  'sec-websocket-extensions',
]);

interface Endpoint {
  secure: boolean;
  host: string;
  port: number;
  /** Host name for SNI and the certificate; undefined if the host is an IP address. */
  servername: string | undefined;
}

/**
 * Parses a server's URL.
 * @throws TypeError with Node's code if the URL is invalid or has another scheme
 */
export function parseEndpoint(url: string): Endpoint {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === 'https:' || protocol === 'wss:';
  if (!secure && protocol !== 'http:' && protocol !== 'ws:') {
    throw Object.assign(new TypeError(`${url}: neither http(s) nor ws(s)`), { code: 'ERR_INVALID_PROTOCOL' });
  }
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return {
    secure,
    host,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    servername: isIP(host) === 0 ? host : undefined,
  };
}

/** Key in a WebSocket upgrade request (RFC 6455), and the only valid answer to it. */
interface Challenge {
  key: string;
  accept: string;
}

/**
 * Number of keys that are created in one batch. Loading the code for a key into the CPU cache costs much more than
 * running it.
 */
const CHALLENGES = 256;
let challenges: Challenge[] = [];

export function newChallenge(): Challenge {
  if (challenges.length === 0) {
    const randomness = randomBytes(KEY_BYTES * CHALLENGES);
    challenges = Array.from({ length: CHALLENGES }, (_, index) => {
      const key = randomness.toString('base64', index * KEY_BYTES, (index + 1) * KEY_BYTES);
      return { key, accept: hash('sha1', key + WEBSOCKET_GUID, 'base64') };
    });
  }
  return challenges.pop() as Challenge;
}

export interface ServerDestination {
  endpoint: Endpoint;
  /** Whether both the server and the source are IP addresses, not names. */
  areAddresses: boolean;
}

/** Parts of upgrade requests that are the same for all connections with the same options. Callers should cache them. */
export interface UpgradePlan extends ServerDestination {
  /** Beginning of the upgrade request, up to the value of its key. */
  requestHead: string;
  /** Whether the request offers compression to the server. */
  compression: boolean;
}

/**
 * Prepares an upgrade request.
 * @param target path and query, percent-encoded
 * @throws TypeError for an invalid URL or header
 */
export function planUpgrade(options: ClientOptions, target: string): UpgradePlan {
  const compression = options.compression ?? false;
  return {
    ...serverDestinationOf(options),
    requestHead: upgradeHead(target, headerLines(options), compression),
    compression,
  };
}

/**
 * Returns address and port of the server of a connection, and whether both ends are IP addresses, which need no DNS
 * lookup.
 * @throws TypeError for an invalid URL
 */
export function serverDestinationOf({ url, localAddress }: ClientOptions): ServerDestination {
  const endpoint = parseEndpoint(url);
  // An address in 127.0.0.0/8 can reach localhost only by IPv4.
  if (endpoint.host === 'localhost' && localAddress?.startsWith('127.')) endpoint.host = '127.0.0.1';
  return { endpoint, areAddresses: isIP(endpoint.host) !== 0 && isIP(localAddress ?? endpoint.host) !== 0 };
}

/**
 * Returns the start of an upgrade request.
 * @param lines header lines from `headerLines`
 */
export function upgradeHead(target: string, lines: string, compression: boolean): string {
  const offer = compression ? `\r\nSec-WebSocket-Extensions: ${DEFLATE_OFFER}` : '';
  return (
    `GET ${target} HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13` +
    `${lines}${offer}\r\nSec-WebSocket-Key: `
  );
}

export function upgradeRequest({ requestHead }: UpgradePlan, key: string): Buffer {
  // Header values are Latin-1 on the wire.
  return Buffer.from(`${requestHead}${key}\r\n\r\n`, 'latin1');
}

/**
 * Returns the user's headers and `Host`, each with a line break before it.
 * @param except lower-case names of headers to leave out
 * @throws TypeError for an invalid header
 */
export function headerLines({ headers, url }: ClientOptions, except: string[] = []): string {
  const lines: string[] = [];
  let hasHost = false;
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    const lower = name.toLowerCase();
    if (lower === 'host') hasHost = true;
    if (!OWN_HEADERS.has(lower) && !except.includes(lower)) lines.push(`\r\n${name}: ${value}`);
  }
  if (!hasHost) lines.push(`\r\nHost: ${new URL(url).host}`);
  return lines.join('');
}

/**
 * Last valid response head, with its text before and after the accept key. Nearly all response heads differ only in
 * that key.
 */
let lastValid: { before: string; after: string; head: HttpResponseHead } | undefined;

export function expectedUpgradeResponse({ accept }: Challenge): ExpectedResponse {
  return { status: 101, error: webSocketError, readHead: (text) => readHead(text, accept) };
}

function readHead(text: string, accept: string): HttpResponseHead {
  const [before = '', after = '', ...others] = text.split(accept);
  if (lastValid && before === lastValid.before && after === lastValid.after && others.length === 0)
    return lastValid.head;
  const head = parseResponseHead(text, webSocketError);
  if (head.status !== 101) return head;
  const [upgrade] = head.headers.get('upgrade') ?? [];
  if (upgrade?.toLowerCase() !== 'websocket') throw webSocketError('no Upgrade: websocket');
  if (head.headers.get('sec-websocket-accept')?.[0] !== accept) throw webSocketError('wrong Sec-WebSocket-Accept');
  lastValid = { before, after, head };
  return head;
}

/** Returns the compression that the server has granted; undefined for none. @throws ProtocolError */
export function deflateGrantIn({ headers }: HttpResponseHead, offersCompression: boolean): DeflateGrant | undefined {
  const extensions = headers.get('sec-websocket-extensions')?.filter(Boolean).join(', ') ?? '';
  if (extensions === '') return undefined;
  if (!offersCompression) throw webSocketError('an extension that was not requested');
  return readDeflateGrant(extensions);
}
