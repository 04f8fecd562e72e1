import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'redis';
import { RedisReader } from '../../../plugin/samplers/redis.ts';
import { eventually } from '../../helpers/poll.ts';
import { freePort, startRedis, type TestRedis } from '../../helpers/redis.ts';

/** A client that outlives its server, as cleaning up goes in the order of opening. */
async function connectedTo(redis: TestRedis) {
  const client = createClient({ url: redis.url, socket: { reconnectStrategy: false } });
  client.on('error', () => {});
  return client.connect();
}

test('memory of a Redis, and of those who subscribe', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const subscriber = await connectedTo(redis);
  t.after(() => subscriber.isOpen && subscriber.destroy());
  await subscriber.subscribe('a', () => {});
  const reader = new RedisReader(redis.url);
  t.after(() => reader.close());
  await reader.ready();

  const reading = await reader.read();
  assert.ok(reading);
  assert.ok(reading.usedMemoryBytes > 100_000 && reading.rssBytes > 1_000_000);
  assert.ok(reading.pubSubTotalBytes > 0);
  assert.equal(reading.pubSubOutputBytes, 0);
  assert.equal(reader.failures, 0);
});

test('traffic of a Redis, without that of the reader', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const [subscriber, publisher] = await Promise.all([connectedTo(redis), connectedTo(redis)]);
  for (const client of [subscriber, publisher]) t.after(() => client.isOpen && client.destroy());
  await subscriber.subscribe('a', () => {});
  await subscriber.pSubscribe('b*', () => {});
  await subscriber.sSubscribe('c', () => {});
  const reader = new RedisReader(redis.url);
  t.after(() => reader.close());
  await reader.ready();

  const before = await reader.traffic();
  for (let reading = 0; reading < 5; reading++) await reader.read();
  const idle = await reader.traffic();
  assert.deepEqual(idle, before, 'five readings of some kilobytes each');
  await publisher.publish('a', 'x'.repeat(10_000));
  const after = await reader.traffic();
  assert.ok(before && after);
  const [received, sent] = [after.inBytes - before.inBytes, after.outBytes - before.outBytes];
  assert.ok(received > 10_000 && received < 10_200, `${received} bytes`);
  assert.ok(sent > 10_000 && sent < 10_200, `${sent} bytes`);
  assert.deepEqual([after.channels, after.patterns, after.shardChannels], [1, 1, 1]);
  assert.match(after.version, /^\d+\.\d+/);
});

test('nobody there: no reading, counted with the reason, and no crash', async () => {
  const reader = new RedisReader(`redis://127.0.0.1:${await freePort()}`);
  await reader.ready();
  assert.equal(await reader.read(), undefined);
  assert.equal(await reader.read(), undefined);
  assert.equal(reader.failures, 2);
  assert.match(reader.lastFailure ?? '', /ECONNREFUSED/);
  reader.close();
  reader.close();
});

test('a Redis that goes away and comes back on its port is read again', async (t) => {
  const first = await startRedis();
  const reader = new RedisReader(first.url);
  t.after(() => reader.close());
  await reader.ready();
  assert.ok(await reader.read());
  await first.close();
  assert.equal(await reader.read(), undefined);
  const second = await startRedis(first.port);
  t.after(() => second.close());
  await eventually('a reading of the new Redis', async () => (await reader.read()) !== undefined);
  assert.ok(reader.failures >= 1);
});

test('a Redis that does not answer costs one second, not the run', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const reader = new RedisReader(redis.url);
  t.after(() => reader.close());
  await reader.ready();
  const other = await connectedTo(redis);
  t.after(() => other.isOpen && other.destroy());
  await other.sendCommand(['CLIENT', 'PAUSE', '10000', 'ALL']);
  const beganMs = performance.now();
  assert.equal(await reader.read(), undefined);
  assert.ok(performance.now() - beganMs < 3000);
  assert.match(reader.lastFailure ?? '', /no answer within/);
});
