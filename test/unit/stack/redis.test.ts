import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRedisCommand } from '../../../server/stack/redis.ts';
import { assertEach } from '../../helpers/columns.ts';
import { startRedisCluster } from '../../helpers/redis.ts';
import { missingTools } from '../../helpers/tools.ts';

test('the nodes of a Redis Cluster know all slots, even after a restart, and require the password', {
  skip: missingTools('redis-server', 'redis-cli'),
}, async (t) => {
  const cluster = await startRedisCluster(t);
  const { password } = new URL(cluster.url);
  const urls = cluster.nodes.map(({ port }) => `redis://:${password}@127.0.0.1:${port}`);
  const slots = () => Promise.all(urls.map((url) => sendRedisCommand(url, ['CLUSTER', 'SLOTS'])));
  const [first = '', ...others] = await slots();
  for (const { port } of cluster.nodes) assert.ok(first.includes(`127.0.0.1,${port}`), first);
  for (const other of others) assert.deepEqual(other.split(',').sort(), first.split(',').sort());

  const unauthenticated = new URL(cluster.url);
  unauthenticated.password = '';
  await assert.rejects(sendRedisCommand(unauthenticated.href, ['PING']), /NOAUTH/);
  unauthenticated.password = 'other';
  await assert.rejects(sendRedisCommand(unauthenticated.href, ['PING']), /WRONGPASS/);

  await cluster.stop();
  await cluster.start();
  assertEach(await slots(), (one) => one.split(',').sort(), Array(3).fill(first.split(',').sort()));
});
