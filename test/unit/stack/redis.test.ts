/** The stack's own Redis: who can use it, and where its password can be read. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { freePorts } from '../../../server/stack/ports.ts';
import { askRedis, newRedisUrl, slotsOf, startRedis } from '../../../server/stack/redis.ts';
import { terminate } from '../../../server/stack/state/processes.ts';
import { findTool } from '../../../server/stack/tools.ts';
import { assertEach } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { startRedisCluster } from '../../helpers/redis.ts';

const redisServer = findTool('redis-server') ?? 'redis-server';

async function started(t: TestContext) {
  const dir = join(fileTree(t, { 'redis "quoted"/redis.log': '' }), 'redis "quoted"');
  const [port = 0] = await freePorts(1);
  const url = newRedisUrl(port);
  const redis = await startRedis(redisServer, { url, dir, logFile: join(dir, 'redis.log') });
  t.after(() => terminate([redis], 2_000));
  return { dir, url, port };
}

const ping = (url: string) => askRedis(url, ['PING']);

suite('Redis', { skip: findTool('redis-server') ? false : 'redis-server is not installed' }, () => {
  test('answers only with its password', async (t) => {
    const { url, port } = await started(t);
    assert.equal(await ping(url), 'PONG');
    await assert.rejects(ping(`redis://127.0.0.1:${port}`), /NOAUTH/);
    await assert.rejects(ping(newRedisUrl(port)), /WRONGPASS/);
  });

  test('reports in its own words why it did not start', async (t) => {
    const { dir, url } = await started(t);
    const other = url.replace(/:[^:@]+@/, ':other@');
    await assert.rejects(startRedis(redisServer, { url: other, dir, logFile: join(dir, 'redis.log') }), {
      code: 'START_FAILED',
      message: /Address already in use/,
    });
  });

  test('as a cluster of three: every slot on a node that all know, also after a restart', async (t) => {
    const cluster = await startRedisCluster(t);
    const { password } = new URL(cluster.url);
    const urls = cluster.nodes.map(({ port }) => `redis://:${password}@127.0.0.1:${port}`);
    const slots = () => Promise.all(urls.map((url) => askRedis(url, ['CLUSTER', 'SLOTS'])));
    const [first = '', ...others] = await slots();
    for (const { port } of cluster.nodes) assert.ok(first.includes(`127.0.0.1,${port}`), first);
    for (const other of others) assert.deepEqual(other.split(',').sort(), first.split(',').sort());
    await assert.rejects(ping(`redis://127.0.0.1:${cluster.nodes[1]?.port}`), /NOAUTH/);

    const before = cluster.nodes.map(({ pid }) => pid);
    await cluster.stop();
    await cluster.start();
    assert.equal(cluster.nodes.filter(({ pid }) => before.includes(pid)).length, 0);
    assertEach(await slots(), (one) => one.split(',').sort(), Array(3).fill(first.split(',').sort()));
  });
});

test('each slot has one node', () => {
  for (const nodes of [1, 3, 7, 16]) {
    const ranges = Array.from({ length: nodes }, (_, node) => slotsOf(node, nodes));
    assert.deepEqual([ranges[0]?.[0], ranges.at(-1)?.[1]], [0, 16_383]);
    for (const [node, [from]] of ranges.slice(1).entries()) assert.equal(from, (ranges[node]?.[1] ?? 0) + 1);
  }
});
