/**
 * What a server says to a client that it refuses in the handshake. A refused WebSocket tells little of it: `ws` keeps the body
 * of the answer to itself, and a middleware of Engine.IO that answers a request for a WebSocket ends up hanging up.
 */
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { agentTo, speaksTls } from '../../../protocol/agent.ts';
import { beginningOf, limitTime } from '../../samplers/index.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';

const TIMEOUT_MS = 5000;
const MAX_BODY_LENGTH = 200;
/** What a server answers to whom it does not know, or to too many. */
const REFUSALS = [400, 401, 403, 429];

/** Asks for the same session by polling. @returns status and text of a refusal; undefined if it is none. Never rejects */
export async function refusalWords(connection: ConnectionTarget): Promise<string | undefined> {
  const { path, query, headers, tls, localAddress } = connection;
  const url = new URL(connection.url.replace(/^ws/, 'http'));
  const search = new URLSearchParams({ ...query, EIO: '4', transport: 'polling' });
  const { get } = speaksTls(url) ? https : http;
  const address = new URL(`${path}?${search}`, url);
  const options = { headers, agent: agentTo(url, tls, { localAddress }) };
  const request = get(address, options);
  limitTime(request, TIMEOUT_MS);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const body = await beginningOf(response, MAX_BODY_LENGTH);
    const { statusCode = 0 } = response;
    await leaveSession(address, body, options);
    const said = body.trimStart().startsWith('<') ? '' : body;
    return REFUSALS.includes(statusCode) ? `${statusCode} ${said}`.trim() : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Ends the session that a request by polling has opened, if it has: the server would count it as a connection until a ping of it
 * is overdue. Never rejects.
 */
export async function leaveSession(address: URL, answer: string, options: RequestOptions = {}): Promise<void> {
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
