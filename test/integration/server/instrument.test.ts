import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Gauge } from 'prom-client';
import { Server } from 'socket.io';
import type { BroadcastMessage, BroadcastSent, WorkerBatches, WorkerStats } from '../../../protocol/wire/events.ts';
import { type InstrumentOptions, instrument } from '../../../server/instrument.ts';
import { ask, connectClient, connectControl, onceOf, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';

/** Event map of the user's server. `instrument()` accepts any event map. */
interface Incoming {
  subscribe: (topic: string, ack: (ok: boolean) => void) => void;
  join_room: (room: { clientKey: string }, ack?: (answer: string) => void) => void;
  event_batch: (events: unknown[], ack: (answer: string) => void) => void;
}

const LOGIN = { path: '/realtime/', auth: { user: 'ada' } };

/**
 * Starts a typical user's server: an HTTP handler, its own path, session middleware that refuses clients without a
 * login, dynamic namespaces, rooms by subscription, and a `join_room` with its own rules.
 */
async function startOwn(t: TestContext) {
  const rules = (io: Server<Incoming>) => {
    io.use((socket, next) => next(socket.handshake.auth.user ? undefined : new Error('log in first')));
    io.of(/^\/tenant-\d+$/).on('connection', (socket) => void socket.join('lobby'));
    io.on('connection', (socket) => {
      socket.on('subscribe', async (topic, ack) => {
        await socket.join(topic);
        ack(true);
      });
      socket.on('join_room', ({ clientKey }, ack) => {
        if (clientKey === 'private') return ack?.('not for you');
        socket.join(clientKey);
        if (clientKey === 'acked') ack?.('welcome');
      });
    });
  };
  const { io, url } = await startChat(t, rules, {
    ...{ path: '/realtime/', connectionStateRecovery: {} },
    onRequest: ({ url }, response) => response.end(url === '/api/health' ? 'chat is fine' : ''),
  });
  return { io: io as Server<Incoming>, url };
}

async function setUp(t: TestContext) {
  const chat = await startOwn(t);
  const instrumentation = await instrument(chat.io, { token: TOKEN, worker: 'chat1' });
  t.after(() => instrumentation.close());
  return { ...chat, instrumentation, control: await connectControl(instrumentation.controlPort) };
}

test('instrument(io) gives any Socket.IO server everything that a run needs', async (t) => {
  const { url, control, instrumentation } = await setUp(t);
  const client = await connectClient(url, LOGIN);
  await client.emitWithAck('subscribe', 'news');

  const received = onceOf(client, 'broadcast');
  const sent = await ask<BroadcastSent>(control, 'broadcast', { room: 'news', bytes: 100, seq: 1 });
  const [message] = (await received) as [BroadcastMessage];
  assert.equal(sent.expected, 1);
  assert.deepEqual(Object.keys(message).slice(0, 3), ['seq', 'sentAtUs', 'worker']);
  assert.ok((await client.emitWithAck('broadcast_echo', message)).roundTripUs > 0);
  assert.equal((await ask<WorkerStats>(control, 'stats')).worker, 'chat1');
  const metrics = await (await fetch(`http://127.0.0.1:${instrumentation.controlPort}/metrics`)).text();
  assert.match(metrics, /capacity_connections\{worker="chat1"\} 1/);
});

test('instrument(io) does not handle event_batch if the server has its own handler', async (t) => {
  const { io, url, control } = await setUp(t);
  io.on('connection', (socket) => void socket.on('event_batch', (_events, ack) => ack('stored')));
  const client = await connectClient(url, LOGIN);
  assert.equal(await client.emitWithAck('event_batch', [1, 2]), 'stored');
  assert.equal((await ask<WorkerBatches>(control, 'batches')).batches, 0);
});

test('the server’s own join_room handler decides, and instrument(io) acknowledges if the handler does not', async (t) => {
  const { url, control } = await setUp(t);
  const client = await connectClient(url, LOGIN);
  const joined = await client.emitWithAck('join_room', { clientKey: 'open' });
  assert.deepEqual(joined, { room: 'open', worker: 'chat1', members: 1 });
  assert.equal(await client.emitWithAck('join_room', { clientKey: 'acked' }), 'welcome');
  assert.equal(await client.emitWithAck('join_room', { clientKey: 'private' }), 'not for you');
  assert.equal((await ask<{ members: number }>(control, 'members', 'private')).members, 0);
});

test('instrument(io) does not change the server’s own behaviour', async (t) => {
  const { url } = await setUp(t);
  assert.equal(await (await fetch(`${url}/api/health`)).text(), 'chat is fine');
  await assert.rejects(connectClient(url, { path: '/realtime/' }), { message: 'log in first' });
  const tenant = await connectClient(`${url}/tenant-7`, LOGIN);
  assert.equal(tenant.connected, true);
});

test('a user’s metric that fails causes a status 500 and one log line, and the server continues', async (t) => {
  const { instrumentation, control } = await setUp(t);
  const lines = t.mock.method(console, 'error', () => {}).mock;
  const fail = () => {
    throw new Error('no database');
  };
  new Gauge({ name: 'own', help: 'x', registers: [instrumentation.registry], collect: fail });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${instrumentation.controlPort}${path}`)).status;
  assert.deepEqual([await ask('/metrics'), await ask('/metrics'), await ask('/healthz')], [500, 500, 200]);
  assert.equal(lines.callCount(), 1);
  assert.match(String(lines.calls[0]?.arguments[0]), /metric failed: no database$/);
  assert.equal(control.connected, true);
});

test('instrument(io) describes the server’s options as far as they are visible, with no tunings', async (t) => {
  const { io, control } = await setUp(t);
  const { server } = await ask<WorkerStats>(control, 'stats');
  assert.deepEqual([server.kind, server.tunings], ['own', {}]);
  const { pingInterval, transports, perMessageDeflate, connectionStateRecovery } = server.options;
  assert.deepEqual([pingInterval, transports, perMessageDeflate], ['25000', 'polling, websocket', 'false']);
  assert.notEqual(connectionStateRecovery, 'false');
  io.engine.opts.pingInterval = 1234;
  assert.equal((await ask<WorkerStats>(control, 'stats')).server.options.pingInterval, '1234');
});

test('closing instrument(io) removes everything from the server, which keeps running', async (t) => {
  const { io, url, instrumentation } = await setUp(t);
  const listeners = () => [io.of('/').listenerCount('connection'), io.engine.listenerCount('connection_error')];
  const instrumented = listeners();
  await Promise.all([instrumentation.close(), instrumentation.close()]);
  assert.deepEqual(
    listeners(),
    instrumented.map((count) => count - 1),
  );
  await assert.rejects(fetch(`http://127.0.0.1:${instrumentation.controlPort}/healthz`));
  const client = await connectClient(url, LOGIN);
  assert.equal(await client.emitWithAck('subscribe', 'news'), true);
});

test('the default worker name consists of the host name and the process id', async (t) => {
  const { io } = await startOwn(t);
  const instrumentation = await instrument(io, { token: TOKEN });
  t.after(() => instrumentation.close());
  const health = await fetch(`http://127.0.0.1:${instrumentation.controlPort}/healthz`);
  const { worker } = (await health.json()) as { worker: string };
  assert.match(worker, new RegExp(`^[a-z0-9-]*p${process.pid}$`));
  assert.ok(worker.length > `p${process.pid}`.length, 'the host name is part of it: containers repeat process ids');
});

test('instrument(io) refuses a server that is not attached, and wrong options', async (t) => {
  await assert.rejects(instrument(new Server(), { token: TOKEN }), { code: 'NOT_ATTACHED' });
  const { io } = await startOwn(t);
  const wrong = { token: 'short', worker: 'W 1', colour: 'red' } as InstrumentOptions;
  await assert.rejects(instrument(io, wrong), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'CONFIG_INVALID');
    for (const part of ['token', 'worker', 'colour']) assert.match(error.message, new RegExp(part));
    return true;
  });
});
