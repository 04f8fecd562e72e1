import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { WorkerBatches, WorkerResources, WorkerStats } from '../../../protocol/wire/events.ts';
import { ask, connectClient, connectControl, startApp, TOKEN } from '../../helpers/app.ts';

async function setUp(t: TestContext) {
  const app = await startApp(t);
  return { app, control: await connectControl(app.controlPort) };
}

test('the measured port has no control namespace, and control connections are not counted', async (t) => {
  const { app, control } = await setUp(t);
  await assert.rejects(connectClient(`${app.url}/capacity`, { extraHeaders: { authorization: `Bearer ${TOKEN}` } }), {
    message: 'Invalid namespace',
  });
  await connectClient(app.url);
  assert.equal((await ask<WorkerStats>(control, 'stats')).connections, 1);
});

test('the control request `batches` returns the batches since the previous request, and their handler’s time', async (t) => {
  const { app, control } = await setUp(t);
  const client = await connectClient(app.url);
  const before = await ask<WorkerBatches>(control, 'batches');
  assert.deepEqual([before.worker, before.batches, before.events, before.handlerMs], ['w0', 0, 0, null]);
  assert.deepEqual(await client.emitWithAck('event_batch', [{ n: 1 }, { n: 2 }, { n: 3 }]), { events: 3 });
  assert.deepEqual(await client.emitWithAck('event_batch', { n: 4 }), { events: 1 });
  client.emit('event_batch', [1]);
  await client.emitWithAck('event_batch', []);
  const { batches, events, handlerMs, eventLoop } = await ask<WorkerBatches>(control, 'batches');
  assert.deepEqual([batches, events], [4, 5]);
  assert.ok(handlerMs && handlerMs.p50 > 0 && handlerMs.p95 >= handlerMs.p50 && handlerMs.max < 5000);
  assert.ok(eventLoop.utilization > 0);
  assert.equal((await ask<WorkerBatches>(control, 'batches')).batches, 0);
});

test('the control request `resources` returns the worker’s process and machine', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { app, control } = await setUp(t);
  const before = await ask<WorkerResources>(control, 'resources');
  await Promise.all(Array.from({ length: 20 }, () => connectClient(app.url)));
  const now = await ask<WorkerResources>(control, 'resources');
  const { openFiles, openFilesLimit, pssBytes, mallocBytes, usableCores, machine } = now;
  // Each connection has both ends in this process. Connections of the previous test may close during this test.
  assert.ok((openFiles ?? 0) >= (before.openFiles ?? 0) + 30, `${before.openFiles} and then ${openFiles} files`);
  assert.ok(openFilesLimit === null || openFilesLimit > (openFiles ?? 0));
  assert.ok((pssBytes ?? 0) > 10 * 2 ** 20 && (pssBytes ?? 0) <= process.memoryUsage.rss() * 1.1);
  assert.ok((mallocBytes ?? 0) > 2 ** 20 && (mallocBytes ?? 0) < (pssBytes ?? 0));
  assert.ok(usableCores > 0 && usableCores <= machine.cores && (machine.cpu?.busyUs ?? 0) > 0);
  assert.ok((machine.usedBytes ?? 0) > 0 && (machine.usedBytes ?? 0) < machine.memoryBytes);
});

test('the control request `stats` returns the state of the worker', async (t) => {
  const { app, control } = await setUp(t);
  const members = await Promise.all([1, 2, 3].map(() => connectClient(app.url)));
  for (const member of members) await member.emitWithAck('join_room', 'blue');
  await ask(control, 'broadcast', { room: 'blue', bytes: 10, seq: 1 });
  const { rssBytes, heapUsedBytes, eventLoop, versions, ...stats } = await ask<WorkerStats>(control, 'stats');
  const counts = { connections: 3, accepted: 3, rooms: 1, broadcasts: 1 };
  assert.partialDeepStrictEqual(stats, { worker: 'w0', pid: process.pid, ...counts });
  assert.deepEqual(await ask(control, 'members', 'blue'), { worker: 'w0', members: 3 });
  assert.ok(rssBytes > heapUsedBytes && heapUsedBytes > 0);
  assert.ok(eventLoop.utilization > 0 && eventLoop.utilization <= 1);
  assert.partialDeepStrictEqual(versions, { node: process.versions.node, adapter: 'in-memory' });
  assert.match(`${versions.socketIo} ${versions.webSocketEngine}`, /^4\.\S+ ws 8\./);
});

test('a control client begins and ends a recording of the event loop', async (t) => {
  const { control } = await setUp(t);
  const nothing = { worker: 'w0', seconds: [], delayP99Ms: [], delayMaxMs: [] };
  assert.deepEqual(await ask(control, 'eventLoop', true), nothing);
  assert.deepEqual(await ask(control, 'eventLoop', false), nothing);
  await assert.rejects(ask(control, 'eventLoop'), /REQUEST_FAILED/);
});

test('rejects an invalid control request with the reason, and serves the next one', async (t) => {
  const { app, control } = await setUp(t);
  const good = { room: 'blue', bytes: 10, seq: 1 };
  for (const bad of [{ ...good, seq: 0 }, { ...good, bytes: 1e9 }, { ...good, room: '' }, { ...good, x: 1 }, 'blue']) {
    await assert.rejects(ask(control, 'broadcast', bad), /^Error: REQUEST_FAILED/, JSON.stringify(bad));
  }
  await assert.rejects(ask(control, 'members'), /REQUEST_FAILED/);
  await assert.rejects(ask(control, 'shutdown'), /VERSIONS_DIFFER/);
  await assert.rejects(ask(control, 'toString'), /VERSIONS_DIFFER/);
  control.emit('gc');
  assert.deepEqual(await ask(control, 'broadcast', good).then((sent) => (sent as { expected: number }).expected), 0);
  const metrics = await (await fetch(`${app.controlUrl}/metrics`)).text();
  assert.match(metrics, /capacity_malformed_total\{event="control gc",worker="w0"\} 1/);
});

test('the control port serves only /metrics and /healthz', async (t) => {
  const { app, control } = await setUp(t);
  const member = await connectClient(app.url);
  await member.emitWithAck('join_room', 'blue');
  await member.emitWithAck('broadcast_echo', { seq: 1, sentAtUs: monotonicUs() - 1000, data: '' });
  await ask(control, 'broadcast', { room: 'blue', bytes: 10, seq: 1 });
  await fetch(`${app.url}/socket.io/?EIO=4&transport=pigeon`);

  const response = await fetch(`${app.controlUrl}/metrics`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
  const metrics = await response.text();
  const handshake = 'capacity_handshake_errors_total{reason="Transport unknown",worker="w0"}';
  const counted = ['connections', 'rooms', 'joins_total', 'broadcasts_total', 'echo_round_trip_seconds_count'];
  for (const name of [handshake, ...counted.map((series) => `capacity_${series}{worker="w0"}`)]) {
    assert.ok(metrics.includes(`\n${name} 1\n`), `${name} in ${metrics}`);
  }
  for (const [name, minimum] of [
    ['rss_bytes', 1e7],
    ['heap_used_bytes', 1e6],
    ['event_loop_delay_p99_seconds', 0],
  ] as const) {
    const [, value = 'none'] = new RegExp(`^capacity_${name}\\{worker="w0"\\} (\\S+)$`, 'm').exec(metrics) ?? [];
    assert.ok(Number(value) >= minimum, `${name}: ${value}`);
  }
  assert.deepEqual(await (await fetch(`${app.controlUrl}/healthz`)).json(), { status: 'ok', worker: 'w0' });
  assert.equal((await fetch(`${app.controlUrl}/`)).status, 404);
  assert.equal((await fetch(`${app.url}/metrics`)).status, 404);
});
