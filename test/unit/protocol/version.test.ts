import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { VERSION } from '../../../protocol/base/version.ts';
import { READMES } from '../../helpers/packages.ts';
import { page, ROOT } from '../../helpers/pages.ts';

test('the version exchanged between engine and plugin is that of the packages', () => {
  for (const folder of ['plugin/hook', 'plugin/engine', 'server/instrument-package']) {
    const manifest = readFileSync(new URL(`../../../${folder}/package.json`, import.meta.url), 'utf8');
    const { version, dependencies } = JSON.parse(manifest);
    assert.equal(version, VERSION, folder);
    if (folder === 'plugin/hook') assert.equal(dependencies['artillery-engine-socketio-capacity'], VERSION);
  }
});

test('READMEs and guides install tarballs of this version, with lines that the dry run of a release executes', () => {
  const pages = globSync(['README.md', '{plugin,server}/*/README.md', 'docs/**/*.md'], { cwd: ROOT });
  const installs = pages.flatMap((path) =>
    [...page(path).matchAll(/^npm install ([^#\n]*\.tgz[^#\n]*)/gm)].map(([, words = '']) => ({ path, words })),
  );
  for (const { path, words } of installs)
    for (const [, version] of words.matchAll(/-(\d[\d.]*)\.tgz/g)) assert.equal(version, VERSION, path);
  const packagesIn = (words: string) =>
    words
      .split(' ')
      .filter((word) => word && !word.startsWith('-'))
      .join(' ');
  const ofReadmes = Map.groupBy(installs, ({ path }) => path);
  const executed = Object.values(READMES).map((path) => packagesIn(ofReadmes.get(path)?.[0]?.words ?? ''));
  const others = installs.filter(({ words }) => !executed.includes(packagesIn(words)));
  assert.deepEqual(others, []);
  assert.ok(installs.length > 5);
});
