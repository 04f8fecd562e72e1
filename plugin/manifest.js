/**
 * What `prepack` and `postpack` of the packages beside this file do to them. Packed, they have the licence, and ask for
 * the Node that Artillery asks for. In a checkout they ask for none: npm may run on an older Node than the one that
 * `npm install` brings, and would warn of it.
 */
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** npm never packs a file with this ending. */
const ORIGINAL = 'package.json.orig';

if (process.argv[2] === 'prepack') {
  const { engines } = createRequire(import.meta.url)('artillery/package.json');
  const manifest = { ...JSON.parse(readFileSync('package.json', 'utf8')), engines };
  copyFileSync('../../LICENSE', 'LICENSE');
  copyFileSync('package.json', ORIGINAL);
  // Renamed, so that nobody reads half of it.
  writeFileSync('package.json.new', `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync('package.json.new', 'package.json');
} else {
  renameSync(ORIGINAL, 'package.json');
}
