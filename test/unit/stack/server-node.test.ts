import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serverNode } from '../../../server/stack/server-node.ts';

test('the workers’ Node: this one, or an installed version', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'node-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, 'node_modules/node/bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, 'node_modules/node/package.json'), '{"version":"22.1.2"}');
  writeFileSync(join(bin, 'node'), '');

  for (const SERVER_NODE of [undefined, '', process.versions.node]) {
    assert.equal(serverNode({ SERVER_NODE }), process.execPath);
  }
  assert.equal(serverNode({ SERVER_NODE: '22.1.2', CAPACITY_MODULES: folder }), join(bin, 'node'));
  assert.throws(() => serverNode({ SERVER_NODE: '22.1.3', CAPACITY_MODULES: folder }), { code: 'NOT_INSTALLED' });
  assert.throws(() => serverNode({ SERVER_NODE: 'twenty' }), { code: 'CONFIG_INVALID' });
});
