/** The run's own clients, and those of the doctor, log in by HTTP: each by itself, and none leaves a connection of that. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { checkBurst } from '../../../plugin/doctor/target/burst.ts';
import { checkPolling } from '../../../plugin/doctor/target/connect.ts';
import { checkUpgrades } from '../../../plugin/doctor/target/upgrade.ts';
import { come } from '../../../plugin/run/receivers/come.ts';
import { grantsCompression } from '../../../plugin/run/receivers/compression-offer.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import { clientsOf, HOLD, JOIN, welcome } from '../../helpers/own-clients.ts';
import { eventually } from '../../helpers/poll.ts';

const { signal } = new AbortController();

test('a login that is good for one handshake', async (t) => {
  const tokens = new Set<string>();
  let refused = 0;
  const { url } = await startChat(
    t,
    (io) =>
      io.engine.use(
        (request: IncomingMessage & { _query: { sid?: string } }, response: ServerResponse, next: () => void) => {
          if (request._query.sid || tokens.delete(request.headers.authorization ?? '')) return next();
          refused++;
          response.writeHead(401);
          response.end('used');
        },
      ),
    {
      perMessageDeflate: true,
      onRequest: (_request, response) => {
        const token = `token-${Math.random()}`;
        tokens.add(token);
        response.end(JSON.stringify({ token }));
      },
    },
  );
  const login = { post: { url: '/login', capture: { json: '$.token', as: 'token' } } };
  const flow = [login, { connect: { headers: { authorization: '{{ token }}' } } }, HOLD];
  const { clients } = await clientsOf(t, url, { flow });
  const { socket, connection } = await come(clients.next(), signal);
  socket.disconnect();
  assert.equal(await grantsCompression(clients.next(), signal), true);
  const polling = { ...connection, transports: ['polling' as const] };
  const subject = { connection, clients, addresses: [{ address: '127.0.0.1', family: 4 }], signal };
  const checks = [
    await checkBurst(subject, 5),
    ...(await checkUpgrades(subject)),
    ...(await checkPolling({ ...subject, connection: polling })),
  ];
  assert.deepEqual(column(checks, 'status'), ['ok', 'ok', 'ok']);
  assert.equal(refused, 0);
});

/** Artillery's agents hang up after 4 s, Node's server after 5 s. */
const BEFORE_THEY_WOULD_MS = 3000;

test('a client that has logged in keeps no connection but that of Socket.IO', async (t) => {
  const { url, io } = await startChat(t, welcome, { onRequest: (_request, response) => response.end('{}') });
  const http = io.httpServer;
  const connections = promisify((done: (error: Error | null, count: number) => void) => http.getConnections(done));
  const flow = [{ post: { url: '/login', json: { user: 'ann' } } }, { get: { url: '/me' } }, JOIN, HOLD];
  const { clients } = await clientsOf(t, url, { flow });
  const { socket } = await come(clients.next(), new AbortController().signal);
  await eventually('that one is left', async () => (await connections()) === 1, BEFORE_THEY_WOULD_MS);
  socket.disconnect();
  await eventually('none is', async () => (await connections()) === 0);
});
