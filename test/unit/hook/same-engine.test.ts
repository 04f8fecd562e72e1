/** Which engines a run begins with: a stand-in is installed beside a stand-in for Artillery. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { requireSameEngine } from '../../../plugin/hook/same-engine.ts';
import { ownRelease } from '../../../protocol/release.ts';
import { VERSION } from '../../../protocol/version.ts';

const ENGINE = 'node_modules/artillery-engine-socketio-capacity';
const [, ownBuild = ''] = ownRelease().split('+');

/** @param files of the engine's package @returns the folder of Artillery */
function project(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'same-engine-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules/artillery/dist/lib/core'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return join(folder, 'node_modules/artillery');
}

const manifest = (version: string) => JSON.stringify({ name: 'artillery-engine-socketio-capacity', version });
const packed = (version: string, build: string) => ({
  [`${ENGINE}/package.json`]: manifest(version),
  [`${ENGINE}/dist/build`]: build,
});

it('begins with the engine of the same checkout, or of the same build', (t) => {
  requireSameEngine();
  requireSameEngine(project(t, packed(VERSION, ownBuild)));
});

it('refuses another version, another build of the same version, and none at all', (t) => {
  for (const [files, code] of [
    [packed('0.0.9', ownBuild), 'VERSIONS_DIFFER'],
    [packed(VERSION, 'aaaabbbbcccc'), 'VERSIONS_DIFFER'],
    [{}, 'NOT_INSTALLED'],
  ] as const) {
    assert.throws(() => requireSameEngine(project(t, files)), { code });
  }
});

it('refuses one from before builds were told apart, packed or in a checkout', (t) => {
  const old = { [`${ENGINE}/package.json`]: manifest(VERSION), [`${ENGINE}/dist/protocol/a.d.ts`]: 'export {}' };
  assert.throws(() => requireSameEngine(project(t, old)), { code: 'VERSIONS_DIFFER' });
  const linked = project(t, {
    'checkout/protocol/a.ts': 'old',
    'checkout/plugin/engine/package.json': manifest(VERSION),
  });
  const modules = dirname(linked);
  symlinkSync(join(modules, '../checkout/plugin/engine'), join(modules, 'artillery-engine-socketio-capacity'));
  assert.throws(() => requireSameEngine(linked), { code: 'VERSIONS_DIFFER', message: /the engine in .*checkout/ });
});
