import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { VERSION } from '../../../protocol/version.ts';

test('the version that both sides tell each other is that of the packages', () => {
  for (const folder of ['plugin/hook', 'plugin/engine', 'server/instrument-package']) {
    const manifest = readFileSync(new URL(`../../../${folder}/package.json`, import.meta.url), 'utf8');
    assert.equal(JSON.parse(manifest).version, VERSION, folder);
  }
});
