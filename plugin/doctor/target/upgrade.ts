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
import { watchAccept } from '../../run/receivers/look-at-target.ts';
import type { OwnClient } from '../../run/receivers/own-clients.ts';
import { recognize, type Seen } from '../../run/receivers/what-answers.ts';
import { beginningOf, limitTime } from '../../samplers/index.ts';
import { check, placeOf, type Subject, type TargetCheck, TIMEOUT_MS } from './target-check.ts';

const MAX_BODY_LENGTH = 200;
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
        const seen = await ask(connection, url, address);
        const answer = recognize({ asked: 'websocket', url: url.origin, path: connection.path, ...seen });
        if (answer) return { status: 'failed', found: answer.found, fix: answer.fix };
        const { server } = seen as Partial<Seen>;
        return { status: 'ok', found: `granted${server === undefined ? '' : `, by ${printable(String(server), 40)}`}` };
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

/** @returns what was seen, with status 101 if the upgrade was granted */
async function ask(
  { path, query, headers, tls, localAddress }: Subject['connection'],
  url: URL,
  address: LookupAddress,
): Promise<Omit<Seen, 'asked' | 'url' | 'path'>> {
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
  const isAccepted = watchAccept(asking);
  asking.end();
  const answering = Promise.race([once(asking, 'upgrade'), once(asking, 'response')]);
  const answer = await answering.catch((error: unknown) => ({ error, isAccepted: isAccepted() }));
  if (!Array.isArray(answer)) return answer;
  const [response, socket] = answer as [IncomingMessage, Socket | undefined];
  socket?.destroy();
  const { location, server } = response.headers;
  const body = socket ? '' : await beginningOf(response, MAX_BODY_LENGTH);
  return { status: response.statusCode, location, server, body };
}
