/** The run's own clients where a server, or a step of the flow, does not let them in. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Server } from 'socket.io';
import { come } from '../../../plugin/run/receivers/come.ts';
import { connectOfficial, Refused } from '../../../plugin/run/receivers/official-client.ts';
import type { Scenario } from '../../../plugin/script/script.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { type Answer, CSV, clientsOf, HOLD, JOIN, SERVERS } from '../../helpers/own-clients.ts';
import { eventually } from '../../helpers/poll.ts';

const { signal } = new AbortController();
const POST = { url: '/login?key=secret', json: {} };
const lets =
  (reason: string) =>
  (io: Server): void =>
    void io.use((_socket, next) => next(new Error(reason)));
const REFUSALS: [what: string, setUp: (io: Server) => void, scenario: Scenario, said: string][] = [
  [
    'in the namespace',
    lets('invalid username'),
    { flow: [{ connect: { auth: { user: '{{ user }}' } } }, HOLD] },
    'invalid username',
  ],
  [
    'of a login by an event',
    (io) => io.on('connection', (socket) => socket.on('login', (_user, answer: Answer) => answer({ ok: false }))),
    { flow: [{ emit: ['login', {}], acknowledge: { match: { json: '$.0.ok', value: true } } }, JOIN, HOLD] },
    'failed_match: got [{"ok":false}]',
  ],
  [
    'of a login by HTTP that no step notices',
    lets('unauthorized'),
    { flow: [{ post: POST }, { connect: true }, HOLD] },
    'POST /login answered 401; then unauthorized',
  ],
  [
    'of a login by HTTP that a step notices',
    lets('unauthorized'),
    { flow: [{ post: { ...POST, capture: { json: '$.token', as: 'token' } } }, { connect: true }, HOLD] },
    'failed_request: POST /login answered 401: Failed capture or match',
  ],
  ...['websocket', 'polling'].map((transport): (typeof REFUSALS)[number] => [
    `of a handshake by ${transport}`,
    SERVERS.answers,
    { socketio: { transports: [transport] }, flow: [JOIN, HOLD] },
    '401 who are you?',
  ]),
];

for (const [what, setUp, scenario, said] of REFUSALS) {
  test(`a refusal ${what} is quoted, and nothing stays open`, async (t) => {
    const { url, io } = await startChat(t, setUp, {
      onRequest: (_request, response) => response.writeHead(401).end('{}'),
    });
    const { clients } = await clientsOf(t, url, scenario, CSV);
    await assert.rejects(come(clients.next(), signal), (error) => {
      assert.ok(error instanceof Refused);
      assert.equal(error.said, said);
      return true;
    });
    await eventually('nothing stays open', () => io.engine.clientsCount === 0);
  });
}

test('asking by polling why a WebSocket was refused leaves no session behind', async (t) => {
  const { url, io } = await startChat(t, undefined, {
    allowRequest: ({ headers }, decide) => decide(null, headers.upgrade === undefined),
  });
  const asked = once(io.engine, 'connection');
  await assert.rejects(connectOfficial(connectionTo(url), signal), { code: 'TARGET_UNREACHABLE' });
  await asked;
  await eventually('nothing stays open', () => io.engine.clientsCount === 0);
});

test('a query that no URL can have is refused like a header that HTTP has not', async () => {
  for (const wrong of [{ query: { user: '\ud800' } }, { headers: { user: 'a\r\nb: c' } }]) {
    const connecting = connectOfficial({ ...connectionTo('http://127.0.0.1:1'), ...wrong }, signal);
    await assert.rejects(connecting, { code: 'TARGET_UNREACHABLE', message: /malformed|Invalid/ });
  }
});

test('a payload or a processor that cannot be read is named, and no server is accused', async (t) => {
  for (const options of [{ path: 'nowhere.csv' }, { path: 'processor.cjs', options: { quote: '(' } }]) {
    const payload = { ...options, fields: ['user'] };
    const opening = clientsOf(t, 'http://127.0.0.1:1', { flow: [JOIN, HOLD] }, { payload });
    await assert.rejects(opening, { code: 'FILE_UNREADABLE', message: new RegExp(options.path) });
  }
  for (const processor of ['nowhere.js', 'tokens.csv']) {
    const scenario = { flow: [{ function: 'login' }, JOIN, HOLD] };
    const { clients } = await clientsOf(t, 'http://127.0.0.1:1', scenario, { processor });
    await assert.rejects(come(clients.next(), signal), { code: 'FILE_UNREADABLE', message: new RegExp(processor) });
  }
});
