import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { VERSION } from '../../../protocol/base/version.ts';
import { page } from '../../helpers/pages.ts';

test('the version exchanged between engine and plugin is that of the packages', () => {
  for (const folder of ['plugin/hook', 'plugin/engine', 'server/instrument-package']) {
    const manifest = readFileSync(new URL(`../../../${folder}/package.json`, import.meta.url), 'utf8');
    const { version, dependencies } = JSON.parse(manifest);
    assert.equal(version, VERSION, folder);
    if (folder === 'plugin/hook') assert.equal(dependencies['artillery-engine-socketio-capacity'], VERSION);
  }
});

test('READMEs and guides refer to the tarballs of this version', () => {
  const pages = [
    'README.md',
    'plugin/hook/README.md',
    'plugin/engine/README.md',
    'server/instrument-package/README.md',
  ];
  for (const path of [...pages, 'docs/guide/ci.md', 'docs/guide/own-server.md']) {
    const named = [...page(path).matchAll(/-(\d[\d.]*)\.tgz/g)].map(([, version]) => version);
    assert.ok(named.length > 0, path);
    for (const version of named) assert.equal(version, VERSION, path);
  }
});
