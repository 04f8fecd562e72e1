/** The workers of a stack: ecosystem.config.js as PM2 reads it, and their Node. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { serverNode } from '../../../server/stack/server-node.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const CONFIG = join(import.meta.dirname, '../../../ecosystem.config.js');

test('one app per worker, each with its ports', async () => {
  const print = `import(${JSON.stringify(CONFIG)}).then(({ apps }) => console.log(JSON.stringify(apps)))`;
  const STACK = { PORTS: '4001,4002', CONTROL_PORTS: '5001,5002', TOKEN: 'a-token-of-some-length', NODE: '/a/node' };
  const given = Object.entries({ ...STACK, REDIS_URL: 'redis://127.0.0.1:6380', LOG_DIR: '/logs' });
  const env = Object.fromEntries(given.map(([name, value]) => [`STACK_${name}`, value]));
  const { stdout } = await execa(process.execPath, ['-e', print], { extendEnv: false, env });
  const apps = JSON.parse(stdout) as Record<string, string>[];
  assert.equal(apps.length, 2);
  for (const [index, app] of apps.entries()) {
    const CAPACITY = {
      WORKER: `w${index}`,
      PORT: `400${index + 1}`,
      CONTROL_PORT: `500${index + 1}`,
      TOKEN: STACK.TOKEN,
    };
    const told = Object.entries(CAPACITY).map(([name, value]) => [`CAPACITY_${name}`, value]);
    const expected = { ...Object.fromEntries(told), REDIS_URL: 'redis://127.0.0.1:6380' };
    assert.partialDeepStrictEqual(app, { name: `w${index}`, interpreter: '/a/node', exec_mode: 'fork', env: expected });
    assert.ok(existsSync(join(app.cwd ?? '', app.script ?? '')));
  }
});

test('the workers’ Node: this one, or an installed version', (t) => {
  const files = { 'node_modules/node/package.json': '{"version":"22.1.2"}', 'node_modules/node/bin/node': '' };
  const CAPACITY_MODULES = fileTree(t, files);
  for (const SERVER_NODE of [undefined, '', process.versions.node])
    assert.equal(serverNode({ SERVER_NODE }), process.execPath);
  const node = serverNode({ SERVER_NODE: '22.1.2', CAPACITY_MODULES });
  assert.equal(node, join(CAPACITY_MODULES, 'node_modules/node/bin/node'));
  assert.throws(() => serverNode({ SERVER_NODE: '22.1.3', CAPACITY_MODULES }), { code: 'NOT_INSTALLED' });
  assert.throws(() => serverNode({ SERVER_NODE: 'twenty' }), { code: 'CONFIG_INVALID' });
});
