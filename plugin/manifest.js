/**
 * What `prepack` and `postpack` of the packages do to their manifests. Packed, they have the licence, where their sources are,
 * of which build they are, and, unless they ask for another Node themselves, ask for the one that Artillery asks for. In a
 * checkout they ask for none: npm may run on an older Node than the one that `npm install` brings, and would warn of it.
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
  // Renamed, so that nobody reads half of it.
  writeFileSync('package.json.new', `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync('package.json.new', 'package.json');
  // `socketio-capacity-instrument` has no part of the plugin, and belongs to no build.
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
