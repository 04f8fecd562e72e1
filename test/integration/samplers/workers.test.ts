import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { readAtRest } from '../../../plugin/run/memory/readings.ts';
import { ControlClients } from '../../../plugin/samplers/control/workers.ts';
import { type Broadcast, CONTROL_NAMESPACE } from '../../../protocol/events.ts';
import { connectClient, startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { freePort } from '../../helpers/redis.ts';

async function controlOf(t: TestContext, urls: string[], options = {}): Promise<ControlClients> {
  const control = await ControlClients.connect(urls, TOKEN, options);
  t.after(() => control.close());
  return control;
}

test('statistics, garbage collection, members, broadcast and time of two workers', async (t) => {
  const apps = await Promise.all([startApp(t), startApp(t)]);
  const control = await controlOf(t, column(apps, 'controlUrl'));
  const clients = await Promise.all(apps.flatMap((app) => [connectClient(app.url), connectClient(app.url)]));
  for (const client of clients) await client.emitWithAck('join_room', 'r');

  assert.deepEqual(column(await control.stats(), 'connections'), [2, 2]);
  assert.deepEqual(column(await control.resources(), 'worker'), column(await control.stats(), 'worker'));
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
  const apps = await Promise.all([startApp(t), startApp(t, { CAPACITY_DROP_REQUEST: 'off' })]);
  const control = await controlOf(t, column(apps, 'controlUrl'));
  const sampler = { reading: async () => ({ workerRss: 1 }) };
  const { layers, readings, uncollected } = await readAtRest(control, sampler);
  assert.deepEqual([layers, uncollected], [{ workerRss: 1 }, []]);
  // On a busy machine there may be no time for all three.
  assert.ok(readings.length > 0 && readings.every(({ workerRss }) => workerRss === 1));
  const confirming = { gc: async () => {}, stats: () => control.stats() };
  assert.deepEqual((await readAtRest(confirming, sampler)).uncollected, ['w0', 'w0']);
  assertEach(await control.stats(), ({ server }) => server.tunings.dropRequest, ['on', 'off']);
});

test('who is not there, or not what it should be, is an error by its code, with the worker', async (t) => {
  const app = await startApp(t);
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const connect = (urls: string[], token = TOKEN) => ControlClients.connect(urls, token);
  await assert.rejects(connect([app.controlUrl], 'wrong'), { code: 'BAD_TOKEN' });
  await assert.rejects(connect([app.controlUrl, nobody]), {
    code: 'SOURCE_UNREACHABLE',
    message: new RegExp(`${nobody}.*ECONNREFUSED`),
  });
  await assert.rejects(connect([(await startChat(t)).url]), { code: 'CONTROL_MISSING' });
});

test('a refused request keeps its code, and one without an answer in time has its own', async (t) => {
  const { url } = await startChat(t, (io) =>
    io.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('gc', (reply) => reply({ ok: false, code: 'NO_GC', message: 'no' }));
    }),
  );
  const control = await controlOf(t, [url], { timeoutMs: 200 });
  await assert.rejects(control.gc(), { code: 'NO_GC', message: new RegExp(url) });
  await assert.rejects(control.stats(), { code: 'CONTROL_TIMEOUT', message: new RegExp(url) });
});

test('a connection lost under a request, and back again', async (t) => {
  const { io, url } = await startChat(t, (server) =>
    server.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('stats', () => socket.conn.close());
      socket.on('broadcast', ({ seq }, reply) =>
        reply({ ok: true, value: { seq, sentAtUs: 1, worker: 'w', expected: 3 } }),
      );
    }),
  );
  const control = await controlOf(t, [url]);
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
