/** Builds the requests of a polling session. */
import type { ClientOptions } from '../../client/client.ts';
import { engineIoRequestTarget } from '../engine-io/engine-io-handshake.ts';
import {
  headerLines,
  type ServerDestination,
  serverDestinationOf,
  type UpgradePlan,
  upgradeHead,
} from '../websocket/websocket-handshake.ts';

/** Parts of polling requests that are the same for all connections with the same options. Callers should cache them. */
export interface PollingPlan extends ServerDestination {
  /** Path and query of polling requests, percent-encoded. */
  pollTarget: string;
  upgradeTarget: string;
  /** Header lines of every request, without cookies. */
  headers: string;
  /** The user's `Cookie` header; '' for none. */
  cookie: string;
  /** Whether the upgrade request offers compression to the server. */
  compression: boolean;
}

/** Headers that are set per request; the user's values are ignored. */
const REQUEST_HEADERS = ['cookie', 'content-length', 'content-type', 'transfer-encoding'];
/** Radix of the timestamp that makes each URL unique, as in engine.io-client. */
const RADIX = 36;

/**
 * Prepares the requests of a polling session.
 * @throws TypeError for an invalid URL, or a header that HTTP does not allow
 */
export function planPolling(options: ClientOptions): PollingPlan {
  const cookie = Object.entries(options.headers).find(([name]) => name.toLowerCase() === 'cookie')?.[1] ?? '';
  return {
    ...serverDestinationOf(options),
    pollTarget: engineIoRequestTarget(options, 'polling'),
    upgradeTarget: engineIoRequestTarget(options, 'websocket'),
    headers: headerLines(options, REQUEST_HEADERS),
    cookie,
    compression: options.compression ?? false,
  };
}

/**
 * Encodes the HTTP request of a poll or a send.
 * @param sessionId Engine.IO session id; '' for the handshake
 * @param cookieLine `Cookie` header with a line break before it
 * @param body body of a POST; undefined for a GET
 */
export function encodeRequest(plan: PollingPlan, sessionId: string, cookieLine: string, body?: string): Buffer {
  const target = `${plan.pollTarget}&t=${unique()}${sessionId === '' ? '' : sidOf(sessionId)}`;
  const common = `${target} HTTP/1.1\r\nAccept: */*${plan.headers}${cookieLine}\r\nConnection: keep-alive`;
  // Header values are Latin-1 on the wire.
  if (body === undefined) return Buffer.from(`GET ${common}\r\n\r\n`, 'latin1');
  const size = Buffer.byteLength(body);
  const head = `POST ${common}\r\nContent-type: text/plain;charset=UTF-8\r\nContent-Length: ${size}\r\n\r\n`;
  const request = Buffer.allocUnsafe(head.length + size);
  request.write(head, 'latin1');
  request.write(body, head.length);
  return request;
}

/** Plans the upgrade of a polling session to WebSocket. */
export function planUpgradeProbe(plan: PollingPlan, sessionId: string, cookieLine: string): UpgradePlan {
  const { endpoint, areAddresses, headers, compression } = plan;
  const requestHead = upgradeHead(plan.upgradeTarget + sidOf(sessionId), headers + cookieLine, compression);
  return { endpoint, areAddresses, requestHead, compression };
}

/**
 * Returns the query parameter with the session id. It is encoded, so an id from the server cannot change the request.
 */
function sidOf(sessionId: string): string {
  return `&sid=${encodeURIComponent(sessionId)}`;
}

function unique(): string {
  return Date.now().toString(RADIX).slice(3) + Math.random().toString(RADIX).slice(2, 5);
}
