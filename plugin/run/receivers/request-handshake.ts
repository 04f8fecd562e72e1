/**
 * Requests an Engine.IO session with plain HTTP, to find out why a client could not connect. A polling request shows
 * more than a WebSocket: `ws` hides the body of a refusal, and Engine.IO middleware refuses a WebSocket by closing the
 * socket.
 */
import { randomBytes } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { httpAgentFor, isTlsUrl, tlsConnectOptions } from '../../../protocol/wire/http-agent.ts';
import { ENGINE_IO_3_FRAMES } from '../../fleet/client/failure.ts';
import { bodyBeginning, destroyAfter } from '../../samplers/index.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { listeningHosts, portOfUrl } from '../target/target-listeners.ts';
import type { HandshakeResult } from './target-problem.ts';

const TIMEOUT_MS = 5000;
const MAX_BODY_LENGTH = 1000;

/**
 * Sends one handshake request.
 * @param options.address IP address to connect to, if the host name has several
 * @param options.listenMs time in milliseconds for which frames are read after a WebSocket has opened; they become the
 * body of the answer
 * @returns the answer or the error; never rejects
 */
export async function requestHandshake(
  { url: target, path, query, headers, tls, localAddress }: ConnectionTarget,
  asked: HandshakeResult['asked'] = 'polling',
  {
    address,
    timeoutMs = TIMEOUT_MS,
    listenMs,
  }: { address?: LookupAddress; timeoutMs?: number; listenMs?: number } = {},
): Promise<HandshakeResult> {
  const url = new URL(target.replace(/^ws/, 'http'));
  const sent = { asked, url: url.origin, path };
  let isAccepted = false;
  try {
    const search = new URLSearchParams({ ...query, EIO: '4', transport: asked });
    const requestUrl = new URL(`${path}?${search}`, url);
    const asking = asked === 'polling' ? headers : { ...headers, ...upgradeHeaders() };
    const options = { headers: asking, agent: httpAgentFor(url, tls, { address, localAddress }) };
    const { get } = isTlsUrl(url) ? https : http;
    const request = get(requestUrl, options);
    request.once('socket', (socket) => socket.once('connect', () => (isAccepted = true)));
    destroyAfter(request, timeoutMs);
    const answer = await Promise.race([once(request, 'upgrade'), once(request, 'response')]);
    const [response, upgraded, head] = answer as [IncomingMessage, Socket?, Buffer?];
    const frames = upgraded && listenMs !== undefined ? await framesOf(upgraded, head, listenMs) : '';
    upgraded?.destroy();
    const body = upgraded ? frames : await bodyBeginning(response, MAX_BODY_LENGTH);
    if (asked === 'polling') await closeSession(requestUrl, body, options);
    const { statusCode: status, headers: answered } = response;
    const { location, server, 'retry-after': retryAfter } = answered;
    return { ...sent, status, location, server, retryAfter, body };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const hasTls = code === 'ECONNRESET' && !isTlsUrl(url) && (await certificateAt(url)) !== undefined;
    const certificate = /CERT/.test(code) && isTlsUrl(url) ? await certificateAt(url, tls) : undefined;
    const listensAt = code === 'ECONNREFUSED' ? await listeningHosts(url.origin) : [];
    return { ...sent, error, hasTls, isAccepted, listensAt, ...(certificate && { certificate }) };
  }
}

/**
 * Reads up to two WebSocket frames. A server may send none.
 * @returns the bytes of the frames as latin1
 */
async function framesOf(socket: Socket, head: Buffer = Buffer.alloc(0), ms: number): Promise<string> {
  let frames = head.toString('latin1');
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    frames += bytes.toString('latin1');
    if (ENGINE_IO_3_FRAMES.test(frames) || frames.length > MAX_BODY_LENGTH) socket.destroy();
  });
  socket.setTimeout(0);
  const timer = setTimeout(() => socket.destroy(), ms);
  if (ENGINE_IO_3_FRAMES.test(frames)) socket.destroy();
  if (!socket.closed) await once(socket, 'close');
  clearTimeout(timer);
  return frames;
}

function upgradeHeaders() {
  const key = randomBytes(16).toString('base64');
  return { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
}

/**
 * Reads the server's certificate, because Node's error about an expired certificate does not contain it. Also shows
 * whether the target uses TLS: Node's TLS servers close a plain HTTP connection without an answer.
 * @returns undefined if the TLS handshake fails
 */
async function certificateAt(url: URL, tls: ConnectionTarget['tls'] = {}): Promise<PeerCertificate | undefined> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const options = { ...tlsConnectOptions(tls), rejectUnauthorized: false };
  const socket = connect({
    host,
    port: portOfUrl(url.href),
    ...(isIP(host) === 0 && { servername: host }),
    ...options,
  });
  destroyAfter(socket, TIMEOUT_MS);
  const certificate = await once(socket, 'secureConnect').then(
    () => socket.getPeerCertificate(),
    () => undefined,
  );
  socket.destroy();
  return certificate;
}

/**
 * Closes a polling session that the request has opened. Without this, the server would count the session until its ping
 * timeout. Never rejects.
 */
async function closeSession(address: URL, answer: string, options: RequestOptions): Promise<void> {
  const [, sid] = /^0\{"sid":"([^"]+)"/.exec(answer) ?? [];
  if (sid === undefined) return;
  const sessionUrl = new URL(address);
  sessionUrl.searchParams.set('sid', sid);
  const { request: begin } = isTlsUrl(sessionUrl) ? https : http;
  const request = begin(sessionUrl, { ...options, method: 'POST' });
  destroyAfter(request, TIMEOUT_MS);
  // The text `1` is Engine.IO's `close` packet.
  request.end('1');
  const [response] = (await once(request, 'response').catch(() => [])) as [IncomingMessage?];
  response?.resume();
}
