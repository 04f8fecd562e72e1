/** Tests the check that engine and plugin are of the same build. Packages of engine and Artillery are stubs. */
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { requireSameEngine } from '../../../plugin/hook/plugin.ts';
import { ownRelease } from '../../../protocol/base/release.ts';
import { VERSION } from '../../../protocol/base/version.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const ENGINE = 'node_modules/artillery-engine-socketio-capacity';
const [, ownBuild = ''] = ownRelease().split('+');

/**
 * @param files files of the engine's package
 * @returns the folder of Artillery
 */
function project(t: TestContext, files: Record<string, string>): string {
  return join(fileTree(t, { 'node_modules/artillery/dist/lib/core/index.js': '', ...files }), 'node_modules/artillery');
}

const manifest = (version: string) => JSON.stringify({ name: 'artillery-engine-socketio-capacity', version });
const packed = (version: string, build: string) => ({
  [`${ENGINE}/package.json`]: manifest(version),
  [`${ENGINE}/dist/build`]: build,
});

const old = { [`${ENGINE}/package.json`]: manifest(VERSION), [`${ENGINE}/dist/protocol/a.d.ts`]: 'export {}' };

it('the plugin accepts the engine of the same checkout, or of the same build', (t) => {
  requireSameEngine();
  requireSameEngine(project(t, packed(VERSION, ownBuild)));
});

for (const [what, files, code = 'VERSIONS_DIFFER'] of [
  ['another version', packed('0.0.9', ownBuild)],
  ['another build of the same version', packed(VERSION, 'aaaabbbbcccc')],
  ['an old engine without a build id', old],
  ['a missing engine', {}, 'NOT_INSTALLED'],
] as [string, Record<string, string>, string?][]) {
  it(`the plugin refuses ${what}`, (t) => assert.throws(() => requireSameEngine(project(t, files)), { code }));
}

it('the plugin refuses an old engine in a checkout', (t) => {
  const linked = project(t, {
    'checkout/protocol/a.ts': 'old',
    'checkout/plugin/engine/package.json': manifest(VERSION),
  });
  const modules = dirname(linked);
  symlinkSync(join(modules, '../checkout/plugin/engine'), join(modules, 'artillery-engine-socketio-capacity'));
  assert.throws(() => requireSameEngine(linked), { code: 'VERSIONS_DIFFER', message: /the engine in .*checkout/ });
});
