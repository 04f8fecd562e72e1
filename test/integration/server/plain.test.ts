/** Tests the plain server with Socket.IO clients and with a run. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { BroadcastMessage, BroadcastSent, WorkerStats } from '../../../protocol/wire/events.ts';
import { parseServerConfig } from '../../../server/config.ts';
import { createPlainApp } from '../../../server/plain/plain-app.ts';
import { ask, connectClient, connectControl, onceOf, TOKEN } from '../../helpers/app.ts';
import { eventually } from '../../helpers/poll.ts';
import { rawWebSocket } from '../../helpers/raw-websocket.ts';

async function setUp(t: TestContext, environment: Record<string, string> = {}) {
  const settings = { CAPACITY_TOKEN: TOKEN, CAPACITY_WEBSOCKETS: 'plain-ws', CAPACITY_DRAIN_MS: '200', ...environment };
  const app = createPlainApp(parseServerConfig(settings), pino({ level: 'silent' }));
  t.after(() => app.close());
  const { port, controlPort } = await app.start();
  const control = await connectControl(controlPort);
  t.after(() => control.disconnect());
  const url = `http://127.0.0.1:${port}`;
  const stats = () => ask<WorkerStats>(control, 'stats');
  return { app, url, port, control, stats };
}

test('a broadcast of the plain server reaches the members of its room, and is echoed', async (t) => {
  const { url, control, stats } = await setUp(t);
  const [member, other, outsider] = await Promise.all([connectClient(url), connectClient(url), connectClient(url)]);
  outsider.on('broadcast', () => assert.fail('not a member'));
  assert.deepEqual(await member.emitWithAck('join_room', { clientKey: 'blue' }), {
    room: 'blue',
    worker: 'w0',
    members: 1,
  });
  assert.equal((await other.emitWithAck('join_room', 'blue')).members, 2);
  const received = Promise.all([onceOf(member, 'broadcast'), onceOf(other, 'broadcast')]);
  const sent = await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 1000, seq: 1 });
  assert.equal(sent.expected, 2);
  const [[broadcast]] = (await received) as [[BroadcastMessage], unknown];
  assert.deepEqual(Object.keys(broadcast), ['seq', 'sentAtUs', 'worker', 'data']);
  const echo = await member.emitWithAck('broadcast_echo', broadcast);
  assert.ok(echo.seq === 1 && echo.roundTripUs > 0);

  assert.match((await member.emitWithAck('join_room', 7)).error, /expected a room/);
  for (const client of [member, other, outsider]) client.disconnect();
  await eventually('all have disconnected', async () => (await stats()).connections === 0);
  const { accepted, versions, server } = await stats();
  assert.deepEqual([accepted, versions.socketIo, server.kind], [3, 'none', 'plain']);
  assert.match(versions.webSocketEngine, /^ws \d/);
  assert.deepEqual(await ask(control, 'members', 'blue'), { worker: 'w0', members: 0 });
});

test('the plain server pings all clients once in an interval, so that they stay connected', async (t) => {
  const { url } = await setUp(t, { CAPACITY_PING_INTERVAL_MS: '300', CAPACITY_PING_TIMEOUT_MS: '300' });
  const clients = await Promise.all([connectClient(url), connectClient(url), connectClient(url)]);
  // Waits for two pings to each client. A client without pings disconnects after 600 ms.
  for (let round = 0; round < 2; round++) await Promise.all(clients.map((client) => onceOf(client.io, 'ping')));
  for (const client of clients) assert.ok(client.connected);
  for (const client of clients) client.disconnect();
});

test('the plain server notifies its clients when it closes, and drops one that does not answer', {
  timeout: 25_000,
}, async (t) => {
  const { app, url, port } = await setUp(t);
  const client = await connectClient(url);
  const { socket } = await rawWebSocket(port);
  const left = [onceOf(client, 'disconnect'), onceOf(socket, 'close')];
  await app.close();
  await Promise.all(left);
});
