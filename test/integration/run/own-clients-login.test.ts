/** Tests that the run's own clients and the doctor log in one by one, close their connections, and report refusals. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Server } from 'socket.io';
import { checkBurst } from '../../../plugin/doctor/target/burst.ts';
import { checkPolling, checkUpgrades } from '../../../plugin/doctor/target/check-connect.ts';
import { grantsCompression } from '../../../plugin/run/receivers/compression-offer.ts';
import { connectClient } from '../../../plugin/run/receivers/connect-client.ts';
import { RefusedError } from '../../../plugin/run/receivers/explain-failure.ts';
import type { Scenario } from '../../../plugin/script/script.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { type Answer, CSV, clientsOf, connectBare, HOLD, JOIN, SERVERS, welcome } from '../../helpers/own-clients.ts';
import { eventually } from '../../helpers/poll.ts';

const { signal } = new AbortController();

test('the run’s own clients log in for every handshake if a login is valid for one only', async (t) => {
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
  const { socket } = await connectClient(clients.next(), signal);
  const { target: connection } = socket;
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

/** Time in which idle connections stay open. Artillery's agents close them after 4 s, Node's server after 5 s. */
const BEFORE_IDLE_CLOSE_MS = 3000;

test('a logged-in client closes its HTTP connections, and keeps only the one of Socket.IO', async (t) => {
  const { url, io } = await startChat(t, welcome, { onRequest: (_request, response) => response.end('{}') });
  const http = io.httpServer;
  const connections = promisify((done: (error: Error | null, count: number) => void) => http.getConnections(done));
  const flow = [{ post: { url: '/login', json: { user: 'ann' } } }, { get: { url: '/me' } }, JOIN, HOLD];
  const { clients } = await clientsOf(t, url, { flow });
  const { socket } = await connectClient(clients.next(), new AbortController().signal);
  await eventually('one connection is left', async () => (await connections()) === 1, BEFORE_IDLE_CLOSE_MS);
  socket.disconnect();
  await eventually('no connection is left', async () => (await connections()) === 0);
});

const POST = { url: '/login?key=secret', json: {} };
const refuses =
  (reason: string) =>
  (io: Server): void =>
    void io.use((_socket, next) => next(new Error(reason)));
const REFUSALS: [origin: string, setUp: (io: Server) => void, scenario: Scenario, reason: string][] = [
  [
    'in the namespace',
    refuses('invalid username'),
    { flow: [{ connect: { auth: { user: '{{ user }}' } } }, HOLD] },
    'invalid username (in its answer to the CONNECT of namespace /)',
  ],
  [
    'in a login by an event',
    (io) => io.on('connection', (socket) => socket.on('login', (_user, answer: Answer) => answer({ ok: false }))),
    { flow: [{ emit: ['login', {}], acknowledge: { match: { json: '$.0.ok', value: true } } }, JOIN, HOLD] },
    'failed_match: got [{"ok":false}]',
  ],
  [
    'in a login by HTTP that no step checks',
    refuses('unauthorized'),
    { flow: [{ post: POST }, { connect: true }, HOLD] },
    'POST /login answered 401 (account locked, Retry-After: 60); then unauthorized (in its answer to the CONNECT of namespace /)',
  ],
  [
    'in a login by HTTP that a step checks',
    refuses('unauthorized'),
    { flow: [{ post: { ...POST, capture: { json: '$.token', as: 'token' } } }, { connect: true }, HOLD] },
    'failed_request: POST /login answered 401 (account locked, Retry-After: 60)',
  ],
  ...['websocket', 'polling'].map((transport): (typeof REFUSALS)[number] => [
    `of a handshake by ${transport}`,
    SERVERS.answers,
    { socketio: { transports: [transport] }, flow: [JOIN, HOLD] },
    'HTTP 401: who are you?',
  ]),
];

const ANSWER = { accessToken: 'Canary-7712', user: { id: 17, name: 'ann' } };
const CHECKS: [check: object, reason: string][] = [
  [
    { capture: { json: '$.token', as: 'token' } },
    'failed_capture: POST /login answered 200, but has nothing at $.token to capture as token: the answer has: accessToken, user (id, name); which one is the token?',
  ],
  [
    { capture: [{ json: '$.accessToken', as: 'token' }], match: { json: '$.user.id', value: 18 } },
    'failed_match: POST /login answered 200, but $.user.id is not 18: the answer has: accessToken, user (id, name)',
  ],
];

for (const [check, reason] of CHECKS) {
  test(`an error about a login response that fails a check lists the key names in the response: ${JSON.stringify(check)}`, async (t) => {
    const onRequest: RequestListener = (_request, response) => response.end(JSON.stringify(ANSWER));
    const { url } = await startChat(t, welcome, { onRequest });
    const { clients } = await clientsOf(t, url, {
      flow: [{ post: { url: '/login', json: {}, ...check } }, JOIN, HOLD],
    });
    await assert.rejects(connectClient(clients.next(), signal), {
      reason,
      message: `no Socket.IO connection to ${url}: a step of the flow failed: ${reason}`,
    });
  });
}

for (const [origin, setUp, scenario, reason] of REFUSALS) {
  test(`the run’s own client quotes the server’s refusal ${origin}, and leaves no session open`, async (t) => {
    const { url, io } = await startChat(t, setUp, {
      onRequest: (_request, response) =>
        response.writeHead(401, { 'retry-after': '60' }).end('{"message":"account locked"}'),
    });
    const { clients } = await clientsOf(t, url, scenario, CSV);
    await assert.rejects(connectClient(clients.next(), signal), (error) => {
      assert.ok(error instanceof RefusedError);
      assert.equal(error.reason, reason);
      return true;
    });
    await eventually('nothing stays open', () => io.engine.clientsCount === 0);
  });
}

test('the request for the reason of a refused WebSocket leaves no session open', async (t) => {
  const { url, io } = await startChat(t, undefined, {
    allowRequest: ({ headers }, decide) => decide(null, headers.upgrade === undefined),
  });
  const polled = once(io.engine, 'connection');
  await assert.rejects(connectBare(connectionTo(url), signal), { code: 'TARGET_UNREACHABLE' });
  await polled;
  await eventually('nothing stays open', () => io.engine.clientsCount === 0);
});

test('reports a query or header of a login that cannot be encoded', async () => {
  for (const wrong of [{ query: { user: '\ud800' } }, { headers: { user: 'a\r\nb: c' } }]) {
    const connecting = connectBare({ ...connectionTo('http://127.0.0.1:1'), ...wrong }, signal);
    await assert.rejects(connecting, { code: 'TARGET_UNREACHABLE', message: /malformed|Invalid/ });
  }
});

test('an unreadable payload or processor is reported with its path', async (t) => {
  for (const options of [{ path: 'nowhere.csv' }, { path: 'processor.cjs', options: { quote: '(' } }]) {
    const payload = { ...options, fields: ['user'] };
    const opening = clientsOf(t, 'http://127.0.0.1:1', { flow: [JOIN, HOLD] }, { payload });
    await assert.rejects(opening, { code: 'FILE_UNREADABLE', message: new RegExp(options.path) });
  }
  for (const processor of ['nowhere.js', 'tokens.csv']) {
    const scenario = { flow: [{ function: 'login' }, JOIN, HOLD] };
    const { clients } = await clientsOf(t, 'http://127.0.0.1:1', scenario, { processor });
    await assert.rejects(connectClient(clients.next(), signal), {
      code: 'FILE_UNREADABLE',
      message: new RegExp(processor),
    });
  }
});
