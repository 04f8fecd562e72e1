/** Tests control ports of workers: their replies, TLS, and several workers behind one name. */

import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { readMemoryAtRest } from '../../../plugin/run/memory/readings.ts';
import { addressesOf } from '../../../plugin/samplers/control/control-errors.ts';
import { ControlClients } from '../../../plugin/samplers/control/control-workers.ts';
import { type BroadcastMessage, CONTROL_NAMESPACE } from '../../../protocol/wire/events.ts';
import { instrument } from '../../../server/instrument.ts';
import { connectClient, startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { PEM, PEM_FILES } from '../../helpers/pem.ts';
import { eventually } from '../../helpers/poll.ts';
import { readingsOf } from '../../helpers/readings.ts';
import { freePort, startRedis } from '../../helpers/redis.ts';

async function controlOf(t: TestContext, urls: string[], options = {}): Promise<ControlClients> {
  const control = await ControlClients.connect(urls, TOKEN, options);
  t.after(() => control.close());
  return control;
}

test('control clients read statistics, members and clocks of two workers, and make them collect garbage', async (t) => {
  const apps = await Promise.all([startApp(t), startApp(t)]);
  const control = await controlOf(t, column(apps, 'controlUrl'));
  const clients = await Promise.all(apps.flatMap((app) => [connectClient(app.url), connectClient(app.url)]));
  for (const client of clients) await client.emitWithAck('join_room', 'r');

  assert.deepEqual(column(await control.stats(), 'connections'), [2, 2]);
  assert.deepEqual(column(await control.resources(), 'worker'), column(await control.stats(), 'worker'));
  await control.gc();

  const received = new Promise<BroadcastMessage>((resolve) => clients[2]?.once('broadcast', resolve));
  const sent = await control.broadcast({ room: 'r', bytes: 10, seq: 7 }, 1);
  assert.equal(sent.seq, 7);
  const message = await received;
  assert.equal(message.seq, 7);
  assert.equal(message.worker, sent.worker);
  await assert.rejects(control.broadcast({ room: 'r', bytes: 10, seq: 8 }, 2), RangeError);

  for (const { offsetUs, uncertaintyUs } of await control.time()) {
    assert.ok(Math.abs(offsetUs) <= uncertaintyUs + 1000, `one clock on one host, but ${offsetUs} us apart`);
    assert.ok(uncertaintyUs < 1_000_000);
  }
});

test('detects a worker that confirms a garbage collection without collecting', async (t) => {
  const apps = await Promise.all([startApp(t), startApp(t, { CAPACITY_DROP_REQUEST: 'off' })]);
  const control = await controlOf(t, column(apps, 'controlUrl'));
  const sampler = { reading: async () => readingsOf({ workerRss: 1 }) };
  const { layers, readings, uncollected } = await readMemoryAtRest(control, sampler);
  assert.deepEqual([layers, uncollected], [{ workerRss: 1 }, []]);
  assert.ok(readings.length > 0 && readings.every(({ workerRss }) => workerRss === 1));
  const confirming = { gc: async () => {}, stats: () => control.stats() };
  assert.deepEqual((await readMemoryAtRest(confirming, sampler)).uncollected, ['w0', 'w0']);
  assertEach(await control.stats(), ({ server }) => server.tunings.dropRequest, ['on', 'off']);
});

test('reports a missing or wrong worker as an error with a code and its URL', async (t) => {
  const app = await startApp(t);
  const closedPort = `http://127.0.0.1:${await freePort()}`;
  const connect = (urls: string[], token = TOKEN) => ControlClients.connect(urls, token);
  await assert.rejects(connect([app.controlUrl], 'wrong'), { code: 'BAD_TOKEN' });
  await assert.rejects(connect([app.controlUrl, closedPort]), {
    code: 'SOURCE_UNREACHABLE',
    message: new RegExp(`${closedPort}.*ECONNREFUSED`),
  });
  await assert.rejects(connect([(await startChat(t)).url]), { code: 'CONTROL_MISSING' });
});

test('a refused control request keeps its code, and an unanswered one gets CONTROL_TIMEOUT', async (t) => {
  const { url } = await startChat(t, (io) =>
    io.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('gc', (reply) => reply({ ok: false, code: 'NO_GC', message: 'no' }));
    }),
  );
  const control = await controlOf(t, [url], { timeoutMs: 200 });
  await assert.rejects(control.gc(), { code: 'NO_GC', message: new RegExp(url) });
  await assert.rejects(control.stats(), { code: 'CONTROL_TIMEOUT', message: new RegExp(url) });
});

test('a lost control connection fails the pending request, and is restored', async (t) => {
  const { io, url } = await startChat(t, (server) =>
    server.of(CONTROL_NAMESPACE).on('connection', (socket) => {
      socket.on('stats', () => socket.conn.close());
      socket.on('broadcast', ({ seq }, reply) =>
        reply({ ok: true, value: { seq, sentAtUs: 1, worker: 'w', expected: 3 } }),
      );
    }),
  );
  const control = await controlOf(t, [url]);
  const reconnected = once(io.of(CONTROL_NAMESPACE), 'connection');
  await assert.rejects(control.stats(), { code: 'SOURCE_UNREACHABLE' });
  const order = { room: 'r', bytes: 1, seq: 1 };
  await assert.rejects(control.broadcast(order, 0), { code: 'SOURCE_UNREACHABLE' });
  await reconnected;
  // The server sees the connection shortly before the client does, so the request is repeated.
  await eventually('the connection is restored', async () => {
    const sent = await control.broadcast(order, 0).catch(() => undefined);
    return sent?.expected === 3;
  });
});

async function startControl(t: TestContext): Promise<string> {
  const { io } = await startChat(t);
  const { controlPort, close } = await instrument(io, { token: TOKEN, worker: 'w7', tls: PEM });
  t.after(close);
  return `https://localhost:${controlPort}`;
}

test('control clients connect over TLS if the process trusts the authority', async (t) => {
  const url = await startControl(t);
  const workers = new URL('../../../plugin/samplers/control/control-workers.ts', import.meta.url).href;
  const code = `
    const { ControlClients } = await import(${JSON.stringify(workers)});
    const control = await ControlClients.connect([${JSON.stringify(url)}], ${JSON.stringify(TOKEN)});
    const [stats] = await control.stats();
    const metrics = await fetch(${JSON.stringify(`${url}/metrics`)});
    console.log(stats.worker, metrics.status);
    control.close();`;
  const env = { NODE_EXTRA_CA_CERTS: PEM_FILES.cert };
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', code], { env });
  assert.equal(stdout, 'w7 200');
});

test('control clients connect over TLS with the option `tls`, whatever the process trusts', async (t) => {
  const url = (await startControl(t)).replace('localhost', '127.0.0.1');
  const tls = { ca: PEM.cert };
  for (const options of [{ ...tls, servername: 'localhost' }, { rejectUnauthorized: false }]) {
    const control = await ControlClients.connect([url], TOKEN, { tls: options });
    assert.equal((await control.stats())[0]?.worker, 'w7');
    control.close();
  }
});

test('reports a TLS port without trust, and a mismatch of http and https, as unreachable', async (t) => {
  const url = await startControl(t);
  const plain = await startApp(t);
  for (const wrong of [url, url.replace('https', 'http'), plain.controlUrl.replace('http', 'https')]) {
    await assert.rejects(ControlClients.connect([wrong], TOKEN), { code: 'SOURCE_UNREACHABLE' });
  }
});

const four = (address: string): LookupAddress => ({ address, family: 4 });
const six = (address: string): LookupAddress => ({ address, family: 6 });

test('each address of a host name is a worker, and address changes are detected', async (t) => {
  const first = await startApp(t, { CAPACITY_CONTROL_HOST: '127.0.0.2', CAPACITY_WORKER: 'w2' });
  const port = `${first.controlPort}`;
  const environment = { CAPACITY_CONTROL_HOST: '127.0.0.3', CAPACITY_CONTROL_PORT: port, CAPACITY_WORKER: 'w3' };
  await startApp(t, environment);
  let addresses = [four('127.0.0.3'), four('127.0.0.2'), six('::1')];
  const resolve = async (name: string) => {
    assert.equal(name, 'app-headless');
    return addresses;
  };
  const control = await ControlClients.connect([`http://app-headless:${port}`], TOKEN, { look: resolve });
  t.after(() => control.close());
  const stats = await control.stats();
  assert.deepEqual(column(stats, 'worker'), ['w2', 'w3']);
  assert.notEqual(stats[0]?.instance, stats[1]?.instance);
  assert.equal(control.size, 2);
  assert.deepEqual(await control.addresses(), { 'the workers at app-headless': '127.0.0.2, 127.0.0.3' });
  addresses = [four('127.0.0.3'), four('127.0.0.4')];
  assert.deepEqual(await control.addresses(), { 'the workers at app-headless': '127.0.0.3, 127.0.0.4' });
  const failing = await ControlClients.connectEach([`http://app-headless:${port}`], TOKEN, { look: resolve });
  assertEach(failing, (attempt) => ('error' in attempt ? attempt.error.code : attempt.control.close()), [
    undefined,
    'SOURCE_UNREACHABLE',
  ]);
  assert.match(failing[1]?.url ?? '', /app-headless:\d+ \(127\.0\.0\.4\)/);
});

test('IPv4 and IPv6 addresses of a name count as one host, and literal addresses and unknown names stay unchanged', async () => {
  const addressesFor = (...found: LookupAddress[]) => addressesOf('http://h:1', async () => found);
  assert.equal((await addressesFor(four('10.0.0.1'), six('fd00::1'))).length, 1);
  assert.deepEqual(await addressesFor(six('fd00::2'), six('fd00::1')), [six('fd00::1'), six('fd00::2')]);
  assert.deepEqual(await addressesFor(four('10.0.0.1'), four('10.0.0.1')), [four('10.0.0.1')]);
  const noLookup = () => Promise.reject(new Error('asked'));
  for (const url of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1', 'http://unknown.invalid:1'])
    assert.deepEqual(await addressesOf(url, noLookup), []);
});

test('a worker reports the number of servers that its cluster adapter counts, or one', async (t) => {
  const redis = await startRedis(t);
  const start = async (environment: Record<string, string>) => {
    const app = await startApp(t, environment);
    const control = await ControlClients.connect([app.controlUrl], TOKEN);
    t.after(() => control.close());
    return control;
  };
  assert.equal(await (await start({})).servers(), 1);
  for (const CAPACITY_ADAPTER of ['redis', 'redis-streams']) {
    const [first] = await Promise.all(
      ['w0', 'w1'].map((CAPACITY_WORKER) => start({ CAPACITY_ADAPTER, CAPACITY_WORKER, REDIS_URL: redis.url })),
    );
    await eventually('both are counted', async () => (await first?.servers()) === 2);
  }
});
