/**
 * Asks a target for an Engine.IO session by polling, where a client could not connect. A refused WebSocket tells little: `ws`
 * keeps the body of the answer to itself, and a middleware of Engine.IO that refuses a WebSocket ends by hanging up.
 */
import { randomBytes } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { agentTo, speaksTls, tlsConnectOptions } from '../../../protocol/wire/http-agent.ts';
import { beginningOf, limitTime } from '../../samplers/index.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { portOf } from '../target/target-listeners.ts';
import type { Seen } from './what-answers.ts';

const TIMEOUT_MS = 5000;
const MAX_BODY_LENGTH = 1000;

/** @param asked transport of the session @param options.address of several that the target's name has @returns what was seen; never rejects */
export async function lookAt(
  { url: target, path, query, headers, tls, localAddress }: ConnectionTarget,
  asked: Seen['asked'] = 'polling',
  { address, timeoutMs = TIMEOUT_MS }: { address?: LookupAddress; timeoutMs?: number } = {},
): Promise<Seen> {
  const url = new URL(target.replace(/^ws/, 'http'));
  const about = { asked, url: url.origin, path };
  let isAccepted = false;
  try {
    const search = new URLSearchParams({ ...query, EIO: '4', transport: asked });
    const place = new URL(`${path}?${search}`, url);
    const asking = asked === 'polling' ? headers : { ...headers, ...upgradeHeaders() };
    const options = { headers: asking, agent: agentTo(url, tls, { address, localAddress }) };
    const { get } = speaksTls(url) ? https : http;
    const request = get(place, options);
    request.once('socket', (socket) => socket.once('connect', () => (isAccepted = true)));
    limitTime(request, timeoutMs);
    const answer = await Promise.race([once(request, 'upgrade'), once(request, 'response')]);
    const [response, upgraded] = answer as [IncomingMessage, Socket?];
    upgraded?.destroy();
    const body = upgraded ? '' : await beginningOf(response, MAX_BODY_LENGTH);
    if (asked === 'polling') await leaveSession(place, body, options);
    const { statusCode: status, headers: answered } = response;
    const { location, server, 'retry-after': retryAfter } = answered;
    return { ...about, status, location, server, retryAfter, body };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const hasTls = code === 'ECONNRESET' && !speaksTls(url) && (await certificateAt(url)) !== undefined;
    const certificate = /CERT/.test(code) && speaksTls(url) ? await certificateAt(url, tls) : undefined;
    return { ...about, error, hasTls, isAccepted, ...(certificate && { certificate }) };
  }
}

function upgradeHeaders() {
  const key = randomBytes(16).toString('base64');
  return { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
}

/**
 * Asks for the certificate: Node's error about its dates does not have it, and a TLS server of Node's closes a connection that
 * speaks plain HTTP without a word.
 * @returns undefined if there is no TLS
 */
async function certificateAt(url: URL, tls: ConnectionTarget['tls'] = {}): Promise<PeerCertificate | undefined> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const options = { ...tlsConnectOptions(tls), rejectUnauthorized: false };
  const socket = connect({ host, port: portOf(url.href), ...(isIP(host) === 0 && { servername: host }), ...options });
  limitTime(socket, TIMEOUT_MS);
  const certificate = await once(socket, 'secureConnect').then(
    () => socket.getPeerCertificate(),
    () => undefined,
  );
  socket.destroy();
  return certificate;
}

/**
 * Ends the session that a request by polling has opened, if it has: the server would count it as a connection until a ping of it
 * is overdue. Never rejects.
 */
async function leaveSession(address: URL, answer: string, options: RequestOptions): Promise<void> {
  const [, sid] = /^0\{"sid":"([^"]+)"/.exec(answer) ?? [];
  if (sid === undefined) return;
  const own = new URL(address);
  own.searchParams.set('sid', sid);
  const { request: begin } = speaksTls(own) ? https : http;
  const request = begin(own, { ...options, method: 'POST' });
  limitTime(request, TIMEOUT_MS);
  // The packet `close`.
  request.end('1');
  const [response] = (await once(request, 'response').catch(() => [])) as [IncomingMessage?];
  response?.resume();
}
