/** Whether the request for a WebSocket reaches the server as such, through everything in between. */
import { randomBytes } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { agentTo, speaksTls } from '../../../protocol/agent.ts';
import { printable } from '../../../protocol/printable.ts';
import { come } from '../../run/receivers/come.ts';
import type { OwnClient } from '../../run/receivers/own-clients.ts';
import { beginningOf, limitTime } from '../../samplers/index.ts';
import { check, HTTP2, placeOf, type Subject, type TargetCheck, TIMEOUT_MS, wantedBy } from './target-check.ts';

const MAX_BODY_LENGTH = 200;
const NGINX =
  'let the proxy pass the upgrade on; in nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

/** A login may be good for one handshake: each is a user of its own, and only of one that is refused is the answer read. */
export async function checkUpgrades({ connection, clients, addresses, signal }: Subject): Promise<TargetCheck[]> {
  if (!connection.transports.includes('websocket')) return [];
  const url = new URL(connection.url.replace(/^ws/, 'http'));
  return Promise.all(
    addresses.map((address) =>
      check('websocket', `the upgrade to WebSocket at ${placeOf(url, address)}`, async () => {
        if (clients.areUsers && (await letsIn(clients.nextPassing(), address, signal))) {
          return { status: 'ok', found: 'granted to a virtual user' };
        }
        const response = await ask(connection, url, address);
        const { server } = response.headers;
        const by = server === undefined ? '' : `, by ${printable(String(server), 40)}`;
        if (response.statusCode === 101) return { status: 'ok', found: `granted${by}` };
        const [found, fix] = refusal(
          response.statusCode ?? 0,
          await beginningOf(response, MAX_BODY_LENGTH),
          connection.path,
        );
        return { status: 'failed', found: `${found}${by}`, fix };
      }),
    ),
  );
}

async function letsIn(client: OwnClient, address: LookupAddress, signal: AbortSignal): Promise<boolean> {
  const connection = { ...client.connection, address, transports: ['websocket' as const] };
  const { socket } = (await come({ ...client, connection }, signal).catch(() => undefined)) ?? {};
  socket?.disconnect();
  signal.throwIfAborted();
  return socket !== undefined;
}

/** @returns the answer, with status 101 if the upgrade was granted */
async function ask(
  { path, query, headers, tls, localAddress }: Subject['connection'],
  url: URL,
  address: LookupAddress,
): Promise<IncomingMessage> {
  const search = new URLSearchParams({ ...query, EIO: '4', transport: 'websocket' });
  const { request } = speaksTls(url) ? https : http;
  const asking = request(new URL(`${path}?${search}`, url), {
    agent: agentTo(url, tls, { address, localAddress }),
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    },
  });
  limitTime(asking, TIMEOUT_MS);
  asking.end();
  const answer = await Promise.race([once(asking, 'upgrade'), once(asking, 'response')]);
  const [response, socket] = answer as [IncomingMessage, Socket | undefined];
  socket?.destroy();
  return response;
}

/** @returns what was found, and how to mend it */
export function refusal(status: number, body: string, path: string): [found: string, fix: string] {
  // Engine.IO's answer to a request for WebSocket that does not ask for an upgrade.
  if (status === 400 && /"code":3\b/.test(body)) {
    return ['the server got the request without its Upgrade header: a proxy in between has removed it', NGINX];
  }
  if (status === 400 && /"code":0\b/.test(body)) {
    const fix = 'add it to `transports` of the server, or measure with TRANSPORTS=polling';
    return ['the server does not offer WebSocket', fix];
  }
  const wanted = wantedBy(body);
  // HTTP Version Not Supported.
  if (status === 505) return HTTP2;
  if (wanted) return wanted;
  // The title of a page.
  const said = printable(
    /^\s*</.test(body) ? (/<title>(.*?)<\/title>/is.exec(body)?.[1] ?? '') : body,
    MAX_BODY_LENGTH,
  );
  const found = `HTTP ${status}${said === '' ? '' : `: ${said}`}`;
  const engine = 'config.engines.socketio-capacity';
  if (status === 404) return [found, `is the path ${path}? Name another in ${engine}.path, or route it in the proxy`];
  if (status === 401 || status === 403) {
    return [found, `give it what it asks for, in \`headers\` or \`query\` of ${engine}; or allow it in the proxy`];
  }
  if (status >= 502) return [found, 'the proxy reaches no worker: see its log, and those of the workers'];
  return [found, `see the log of the proxy; ${NGINX}`];
}
