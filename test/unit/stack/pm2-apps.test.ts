import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { findServerNode } from '../../../server/stack/server-node.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const CONFIG = join(import.meta.dirname, '../../../ecosystem.config.js');

/** @returns the apps of the ecosystem file with these environment variables */
async function appsWith(env: Record<string, string>): Promise<Record<string, string>[]> {
  const print = `import(${JSON.stringify(CONFIG)}).then(({ apps }) => console.log(JSON.stringify(apps)))`;
  return JSON.parse((await execa(process.execPath, ['-e', print], { extendEnv: false, env })).stdout);
}

test('PM2 gets an app for each Redis node, worker and nginx, and restarts only workers automatically', async () => {
  const STACK = { HOME: '/s', PORTS: '4001,4002', CONTROL_PORTS: '5001,5002', TOKEN: 'a-token', NODE: '/a/node' };
  const servers = { REDIS_URL: 'redis://127.0.0.1:6380', REDIS_SERVER: '/a/redis-server', REDIS_NODES: '1' };
  const given = Object.entries({ ...STACK, ...servers, NGINX: '/a/nginx' });
  const apps = await appsWith(Object.fromEntries(given.map(([name, value]) => [`STACK_${name}`, value])));
  const [redis, w0, w1, nginx] = apps;
  assert.equal(apps.length, 4);
  for (const [index, app] of [w0, w1].entries()) {
    const CAPACITY = { CAPACITY_PORT: `400${index + 1}`, CAPACITY_CONTROL_PORT: `500${index + 1}` };
    const env = {
      CAPACITY_WORKER: `w${index}`,
      ...CAPACITY,
      CAPACITY_TOKEN: STACK.TOKEN,
      REDIS_URL: servers.REDIS_URL,
    };
    assert.partialDeepStrictEqual(app, { name: `w${index}`, interpreter: '/a/node', autorestart: true, env });
    assert.ok(existsSync(join(app?.cwd ?? '', app?.script ?? '')));
  }
  const server = { interpreter: 'none', autorestart: false };
  const parts = { name: 'redis0', script: '/a/redis-server', cwd: '/s/redis/0', args: ['/s/redis/0/redis.conf'] };
  assert.partialDeepStrictEqual(redis, { ...server, ...parts });
  assert.partialDeepStrictEqual(nginx, { ...server, name: 'nginx', script: '/a/nginx', cwd: '/s/nginx' });
  assert.deepEqual(
    (await appsWith({})).map(({ name }) => name),
    ['w0'],
    'by hand',
  );
});

test('workers run on the current Node, or on an installed version', (t) => {
  const files = { 'node_modules/node/package.json': '{"version":"22.1.2"}', 'node_modules/node/bin/node': '' };
  const CAPACITY_MODULES = fileTree(t, files);
  for (const SERVER_NODE of [undefined, '', process.versions.node])
    assert.equal(findServerNode({ SERVER_NODE }), process.execPath);
  const node = findServerNode({ SERVER_NODE: '22.1.2', CAPACITY_MODULES });
  assert.equal(node, join(CAPACITY_MODULES, 'node_modules/node/bin/node'));
  assert.throws(() => findServerNode({ SERVER_NODE: '22.1.3', CAPACITY_MODULES }), { code: 'NOT_INSTALLED' });
  assert.throws(() => findServerNode({ SERVER_NODE: 'twenty' }), { code: 'CONFIG_INVALID' });
});
