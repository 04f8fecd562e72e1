/**
 * Changes the manifest of a package for packing (`prepack`), and restores it (`postpack`). A packed package has the licence,
 * the address of its sources, the digest of its build, and Artillery's required version of Node, unless it requires another
 * one. In a checkout it requires none, because npm would warn if it runs on an older Node than the one that `npm install`
 * brings.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repositoryUrl } from './sources.js';

/** npm never packs a file with this ending. */
const ORIGINAL = 'package.json.orig';
const ROOT = join(import.meta.dirname, '..');

if (process.argv[2] === 'prepack') {
  const { engines } = createRequire(import.meta.url)('artillery/package.json');
  const manifest = { engines, ...JSON.parse(readFileSync('package.json', 'utf8')), ...whereSourcesAre() };
  copyFileSync(join(ROOT, 'LICENSE'), 'LICENSE');
  copyFileSync('package.json', ORIGINAL);
  // Renamed when complete, so that no other process reads a part of it.
  writeFileSync('package.json.new', `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync('package.json.new', 'package.json');
  // `socketio-capacity-instrument` contains no code of the plugin, so it needs no digest.
  if (existsSync('dist/plugin')) {
    const { BUILD_DIGEST, sourceDigest } = await import(pathToFileURL(resolve('dist/protocol/base/release.js')).href);
    writeFileSync(join('dist', BUILD_DIGEST), sourceDigest(ROOT));
  }
} else {
  renameSync(ORIGINAL, 'package.json');
}

function whereSourcesAre() {
  const home = repositoryUrl();
  if (home === undefined) return {};
  return {
    repository: { type: 'git', url: `git+${home}.git`, directory: relative(ROOT, process.cwd()) },
    homepage: `${home}#readme`,
    bugs: `${home}/issues`,
  };
}
