import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Server } from 'socket.io';
import { readAtRest } from '../../../plugin/run/memory/readings.ts';
import { ControlClients } from '../../../plugin/samplers/control/workers.ts';
import { type Broadcast, CONTROL_NAMESPACE } from '../../../protocol/events.ts';
import { connectClient, startApp, TOKEN } from '../../helpers/app.ts';
import { column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { freePort } from '../../helpers/redis.ts';

/** A Socket.IO server without the contract, to which a test gives its own idea of it. */
async function startBare(t: TestContext, setUp: (io: Server) => void = () => {}) {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  const io = new Server(http);
  setUp(io);
  t.after(() => io.close());
  return { io, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

test('statistics, garbage collection, members, broadcast and time of two workers', async (t) => {
  const apps = await Promise.all([startApp(), startApp()]);
  t.after(() => Promise.all(apps.map((app) => app.close())));
  const control = await ControlClients.connect(
    apps.map((app) => app.controlUrl),
    TOKEN,
  );
  t.after(() => control.close());
  const clients = await Promise.all(apps.flatMap((app) => [connectClient(app.url), connectClient(app.url)]));
  t.after(() => {
    for (const client of clients) client.disconnect();
  });
  for (const client of clients) await client.emitWithAck('join_room', 'r');

  assert.deepEqual(column(await control.stats(), 'connections'), [2, 2]);
  assert.deepEqual(
    column(await control.resources(), 'worker'),
    (await control.stats()).map(({ worker }) => worker),
  );
  await control.gc();

  const arrived = new Promise<Broadcast>((resolve) => clients[2]?.once('broadcast', resolve));
  const sent = await control.broadcast({ room: 'r', bytes: 10, seq: 7 }, 1);
  assert.equal(sent.seq, 7);
  const message = await arrived;
  assert.equal(message.seq, 7);
  assert.equal(message.worker, sent.worker);
  await assert.rejects(control.broadcast({ room: 'r', bytes: 10, seq: 8 }, 2), RangeError);

  for (const { offsetUs, uncertaintyUs } of await control.time()) {
    assert.ok(Math.abs(offsetUs) <= uncertaintyUs + 1000, `one clock on one host, but ${offsetUs} us apart`);
    assert.ok(uncertaintyUs < 1_000_000);
  }
});

test('a worker that does not collect is told from one that does, whatever it confirms', async (t) => {
  const apps = await Promise.all([startApp({ CAPACITY_WORKER: 'w0' }), startApp({ CAPACITY_DROP_REQUEST: 'off' })]);
  t.after(() => Promise.all(apps.map((app) => app.close())));
  const control = await ControlClients.connect(
    apps.map((app) => app.controlUrl),
    TOKEN,
  );
  t.after(() => control.close());
  const sampler = { reading: async () => ({ workerRss: 1 }) };
  const { layers, readings, uncollected } = await readAtRest(control, sampler);
  assert.deepEqual([layers, uncollected], [{ workerRss: 1 }, []]);
  // On a busy machine there may be no time for all three.
  assert.ok(readings.length > 0 && readings.every(({ workerRss }) => workerRss === 1));
  const confirming = { gc: async () => {}, stats: () => control.stats() };
  assert.deepEqual((await readAtRest(confirming, sampler)).uncollected, ['w0', 'w0']);
  const tunings = (await control.stats()).map(({ server }) => [server.kind, server.tunings.dropRequest]);
  assert.deepEqual(tunings, [
    ['tuned', 'on'],
    ['tuned', 'off'],
  ]);
});

test('who is not there, or not what it should be, is an error by its code, with the worker', async (t) => {
  const app = await startApp();
  t.after(() => app.close());
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const connect = (urls: string[], token = TOKEN) => ControlClients.connect(urls, token);
  await assert.rejects(connect([app.controlUrl], 'wrong'), { code: 'BAD_TOKEN' });
  await assert.rejects(connect([app.controlUrl, nobody]), {
    code: 'SOURCE_UNREACHABLE',
    message: new RegExp(`${nobody}.*ECONNREFUSED`),
  });
  await assert.rejects(connect([(await startBare(t)).url]), { code: 'CONTROL_MISSING' });
});

test('a refused request keeps its code, and one without an answer in time has its own', async (t) => {
  const { url } = await startBare(t, (io) =>
    io.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('gc', (reply) => reply({ ok: false, code: 'NO_GC', message: 'no' }));
    }),
  );
  const control = await ControlClients.connect([url], TOKEN, { timeoutMs: 200 });
  t.after(() => control.close());
  await assert.rejects(control.gc(), { code: 'NO_GC', message: new RegExp(url) });
  await assert.rejects(control.stats(), { code: 'CONTROL_TIMEOUT', message: new RegExp(url) });
});

test('a connection lost under a request, and back again', async (t) => {
  const { io, url } = await startBare(t, (server) =>
    server.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('stats', () => socket.conn.close());
      socket.on('broadcast', ({ seq }, reply) =>
        reply({ ok: true, value: { seq, sentAtUs: 1, worker: 'w', expected: 3 } }),
      );
    }),
  );
  const control = await ControlClients.connect([url], TOKEN);
  t.after(() => control.close());
  const back = once(io.of(CONTROL_NAMESPACE), 'connection');
  await assert.rejects(control.stats(), { code: 'SOURCE_UNREACHABLE' });
  const order = { room: 'r', bytes: 1, seq: 1 };
  await assert.rejects(control.broadcast(order, 0), { code: 'SOURCE_UNREACHABLE' });
  await back;
  // The server is connected a moment before the client knows.
  await eventually('the connection is back', async () => {
    const sent = await control.broadcast(order, 0).catch(() => undefined);
    return sent?.expected === 3;
  });
});
