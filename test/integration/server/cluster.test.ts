import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Broadcast, BroadcastSent, WorkerStats } from '../../../protocol/events.ts';
import { createApp } from '../../../server/app.ts';
import { parseConfig } from '../../../server/config.ts';
import { ask, connectClient, connectControl, onceOf, startApp, TOKEN } from '../../helpers/app.ts';
import { eventually } from '../../helpers/poll.ts';
import { freePort, startRedis } from '../../helpers/redis.ts';

async function setUp(t: TestContext) {
  const redis = await startRedis();
  t.after(() => redis.close());
  const environment = { REDIS_URL: redis.url, CAPACITY_REDIS_PREFIX: randomUUID() };
  const apps = await Promise.all(['w0', 'w1', 'w2'].map((id) => startApp({ ...environment, CAPACITY_WORKER: id })));
  t.after(() => Promise.all(apps.map((app) => app.close())));
  const [first] = apps;
  assert.ok(first);
  return { redis, apps, first, control: await connectControl(first.controlPort) };
}

test('a broadcast reaches the members on all workers, and expects as many', async (t) => {
  const { apps, control } = await setUp(t);
  const clients = await Promise.all(apps.flatMap((app) => [connectClient(app.url), connectClient(app.url)]));
  await Promise.all(clients.slice(1).map((client) => client.emitWithAck('join_room', 'blue')));

  const received = Promise.all(clients.slice(1).map((client) => onceOf(client, 'broadcast')));
  const sent = await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 100, seq: 1 });
  assert.equal(sent.expected, 5);
  for (const [message] of (await received) as [Broadcast][]) {
    assert.deepEqual(Object.keys(message), ['seq', 'sentAtUs', 'worker', 'data']);
    assert.equal(message.worker, 'w0');
  }
  assert.equal((await ask<{ members: number }>(control, 'members', 'blue')).members, 5);
  assert.equal((await ask<WorkerStats>(control, 'stats')).versions.adapter.split(' ')[0], '@socket.io/redis-adapter');
  const [message] = (await received)[4] as [Broadcast];
  const timed = await clients[5]?.emitWithAck('broadcast_echo', message);
  assert.ok(timed.roundTripUs > 0, 'another worker than the publisher times the echo too');
});

test('workers survive the loss of Redis, report that they cannot count members, and reconnect', async (t) => {
  const { redis, apps, first, control } = await setUp(t);
  const [here, there] = await Promise.all([connectClient(first.url), connectClient(apps[1]?.url ?? '')]);
  await Promise.all([here, there].map((client) => client.emitWithAck('join_room', 'blue')));

  await redis.close();
  first.io.to('blue').emit('of the user', 1);
  await assert.rejects(ask(control, 'broadcast', { room: 'blue', bytes: 10, seq: 1 }), /REQUEST_FAILED/);
  first.io.to('blue').emit('of the user', 2);
  const metrics = await (await fetch(`${first.controlUrl}/metrics`)).text();
  assert.match(metrics, /capacity_adapter_errors_total\{worker="w0"\} [1-9]/);

  const again = await startRedis(redis.port);
  t.after(() => again.close());
  const received = onceOf(there, 'broadcast');
  let seq = 2;
  await eventually('the workers have found each other again', async () => {
    const order = { room: 'blue', bytes: 10, seq: seq++ };
    return (await ask<BroadcastSent>(control, 'broadcast', order).catch(() => undefined))?.expected === 2;
  });
  await received;
});

test('closes within the drain limit while Redis is away', async (t) => {
  const { redis, first } = await setUp(t);
  await connectClient(first.url);
  await redis.close();
  await first.close();
});

test('no Redis at the start is a clear error without the password, and nothing stays open', async () => {
  const [port, redisPort, controlPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const config = parseConfig({
    CAPACITY_TOKEN: TOKEN,
    CAPACITY_PORT: `${port}`,
    CAPACITY_CONTROL_PORT: `${controlPort}`,
    REDIS_URL: `redis://user:hunter2@127.0.0.1:${redisPort}`,
    CAPACITY_LOG_LEVEL: 'silent',
  });
  await assert.rejects((await createApp(config)).start(), (error: Error & { code?: string; fix?: string }) => {
    assert.equal(error.code, 'REDIS_UNREACHABLE');
    assert.match(error.message, new RegExp(`redis://user:\\*\\*\\*@127.0.0.1:${redisPort}`));
    assert.match(error.fix ?? '', /REDIS_URL/);
    assert.match((error.cause as Error).message, /ECONNREFUSED/);
    return true;
  });
  await assert.rejects(fetch(`http://127.0.0.1:${controlPort}/healthz`));
});
