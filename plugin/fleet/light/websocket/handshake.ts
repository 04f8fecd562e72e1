/** The HTTP side of a WebSocket: the upgrade request, and the server's answer to it. */
import { hash, randomBytes } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import type { ClientOptions } from '../../client/client.ts';
import type { BufferBudget } from '../buffer-budget.ts';
import { DEFLATE_OFFER, type DeflateGrant, readGrant } from '../deflate/grant.ts';
import { webSocketError } from '../protocol-error.ts';
import { ByteQueue } from './byte-queue.ts';
import { headerPattern, Refusal } from './refusal.ts';

const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY_BYTES = 16;
const MAX_HEAD_BYTES = 16 * 1024;
const UPGRADE = headerPattern('upgrade');
const ACCEPT = headerPattern('sec-websocket-accept');
const EXTENSIONS = /\r\nsec-websocket-extensions:[ \t]*([^\r\n]*)/gi;
/** What the handshake itself sets; every other header is the user's to set, `Host` included. */
const OWN_HEADERS = new Set([
  'upgrade',
  'connection',
  'sec-websocket-version',
  'sec-websocket-key',
  'sec-websocket-extensions',
]);

/** The options of a connection that concern WebSocket. */
export type WebSocketOptions = Pick<
  ClientOptions,
  'url' | 'headers' | 'tls' | 'compression' | 'connectTimeoutMs' | 'maxPayloadBytes' | 'localAddress' | 'localPort'
>;

interface Endpoint {
  secure: boolean;
  host: string;
  port: number;
  /** The name for SNI and the certificate; undefined for an address. */
  servername: string | undefined;
}

/** @throws TypeError, with Node's code, for a URL that is none or of another scheme */
export function endpointOf(url: string): Endpoint {
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

/** A nonce of RFC 6455, and the only right answer to it. */
interface Challenge {
  key: string;
  accept: string;
}

/** Challenges are made in batches: loading the code into the CPU cache costs many times more than running it. */
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

export interface Destination {
  endpoint: Endpoint;
  /** Both the server and the source are IP addresses, not names. */
  areAddresses: boolean;
}

/** The same for all connections with the same options, so the caller should keep it for the next one. */
export interface UpgradePlan extends Destination {
  /** The upgrade request up to its key. */
  requestHead: string;
  /** The request offers compression. */
  compression: boolean;
}

/**
 * @param target of the request: path and query, percent-encoded
 * @throws TypeError for an impossible URL, and for a header that HTTP does not allow
 */
export function planUpgrade(options: WebSocketOptions, target: string): UpgradePlan {
  const compression = options.compression ?? false;
  return {
    ...destinationOf(options),
    requestHead: upgradeHead(target, headerLines(options), compression),
    compression,
  };
}

/** @throws TypeError for an impossible URL */
export function destinationOf({ url, localAddress }: WebSocketOptions): Destination {
  const endpoint = endpointOf(url);
  // From an address of 127.0.0.0/8, it can be no other.
  if (endpoint.host === 'localhost' && localAddress?.startsWith('127.')) endpoint.host = '127.0.0.1';
  return { endpoint, areAddresses: isIP(endpoint.host) !== 0 && isIP(localAddress ?? endpoint.host) !== 0 };
}

/** @param lines as `headerLines` returns them */
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
 * @param except names in lower case, of headers that are added later
 * @returns the user's headers and `Host`, each line with a line break before it
 * @throws TypeError for a header that HTTP does not allow
 */
export function headerLines({ headers, url }: WebSocketOptions, except: string[] = []): string {
  const lines: string[] = [];
  let hasHost = false;
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || except.includes(lower)) continue;
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (lower === 'host') hasHost = true;
    lines.push(`\r\n${name}: ${value}`);
  }
  if (!hasHost) lines.push(`\r\nHost: ${new URL(url).host}`);
  return lines.join('');
}

/** The text before and after the accept key in the last valid head: nearly all heads differ only in that key. */
let rightHead = ['', ''];
/** What that head grants. */
let rightGrant: DeflateGrant | undefined;

/** Reads the answer's head in place, or collects it if it arrives in pieces. */
export class UpgradeResponse {
  /** What the server has granted of the compression that was offered; undefined for none. */
  grant: DeflateGrant | undefined = undefined;
  /** The server has refused, and what it says of that is still to come. */
  refusal: Refusal | undefined = undefined;
  #head: ByteQueue | undefined = undefined;
  readonly #accept: string;
  readonly #offersCompression: boolean;
  readonly #budget: BufferBudget;

  /** @param budget for a head that is not complete */
  constructor({ accept }: Challenge, offersCompression: boolean, budget: BufferBudget) {
    this.#accept = accept;
    this.#offersCompression = offersCompression;
    this.#budget = budget;
  }

  /**
   * @returns where the first frame begins, or -1 while the head, or the body of a refusal, is incomplete
   * @throws ProtocolError: `http_<status>`, `not_websocket`, `buffers_full`
   */
  read(bytes: Buffer, start: number, end: number): number {
    if (this.refusal !== undefined) return this.#readRefusal(this.refusal, bytes, start, end);
    const before = this.#head;
    before?.append(bytes, start, end);
    const all = before?.bytes ?? bytes;
    const allEnd = before?.length ?? end;
    let at = before ? 0 : start;
    for (;;) {
      const text = all.toString('latin1', at, Math.min(at + MAX_HEAD_BYTES, allEnd));
      if (!text.startsWith('HTTP/1.'.slice(0, text.length))) throw webSocketError('the answer is not HTTP');
      const size = text.indexOf('\r\n\r\n') + 4;
      if (size === 3) break;
      const head = text.slice(0, size);
      const status = this.#check(head);
      at += size;
      if (status === 101) return end - (allEnd - at);
      if (status >= 200) {
        this.refusal = new Refusal(status, head);
        return this.#readRefusal(this.refusal, all, at, allEnd);
      }
      // An interim answer (100, 103): the real one follows.
    }
    if (allEnd - at >= MAX_HEAD_BYTES) throw webSocketError(`more than ${MAX_HEAD_BYTES} bytes of HTTP headers`);
    if (before === undefined || at > 0) {
      this.#head = new ByteQueue(512, this.#budget);
      before?.release();
      this.#head.append(all, at, allEnd);
    }
    return -1;
  }

  /** Nothing more is read. Idempotent. */
  discard(): void {
    this.#head?.release();
    this.#head = undefined;
  }

  /** @throws ProtocolError as soon as some of the body is there */
  #readRefusal(refusal: Refusal, bytes: Buffer, start: number, end: number): number {
    this.discard();
    refusal.append(bytes, start, end);
    if (refusal.isComplete) throw refusal.toError();
    return -1;
  }

  /** @returns the status of a valid head */
  #check(head: string): number {
    const around = head.split(this.#accept);
    const isRight = around.length === 2 && around[0] === rightHead[0] && around[1] === rightHead[1];
    if (isRight && (rightGrant === undefined || this.#offersCompression)) {
      this.grant = rightGrant;
      return 101;
    }
    const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(head)?.[1]);
    if (Number.isNaN(status)) throw webSocketError('the answer is not HTTP');
    if (status !== 101) return status;
    if (UPGRADE.exec(head)?.[1]?.toLowerCase() !== 'websocket') throw webSocketError('no Upgrade: websocket');
    if (ACCEPT.exec(head)?.[1] !== this.#accept) throw webSocketError('wrong Sec-WebSocket-Accept');
    this.grant = this.#granted(head);
    rightHead = around;
    rightGrant = this.grant;
    return status;
  }

  #granted(head: string): DeflateGrant | undefined {
    const extensions = extensionsOf(head);
    if (extensions === '') return undefined;
    if (!this.#offersCompression) throw webSocketError('an extension that was not asked for');
    return readGrant(extensions);
  }
}

function extensionsOf(head: string): string {
  return [...head.matchAll(EXTENSIONS)]
    .map(([, value]) => value)
    .filter(Boolean)
    .join(', ');
}
