/**
 * Which build of socketio-capacity this is: `0.1.0+3f2a9c1d5b7e`. Engine, plugin and generator hosts speak with one another
 * in shapes that change from commit to commit, and the version number does not.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from './version.ts';

/** In a packed package, beside its code: the digest of the sources that it was compiled from. */
export const BUILD_FILE = 'build';
/** What engine, plugin and hosts are made of. */
const FOLDERS = ['protocol', 'plugin'];
const IS_SOURCE = /^(?!.*(^|\/)(node_modules|dist)\/).*\.ts$/;
const DIGEST_LENGTH = 12;

/** @param root folder of the code: that of a checkout, or `dist` of a package */
export function releaseOf(root: string, version = VERSION): string {
  const packed = join(root, BUILD_FILE);
  return `${version}+${existsSync(packed) ? readFileSync(packed, 'utf8') : sourceDigest(root)}`;
}

/** @returns the same for the same sources, wherever they are */
export function sourceDigest(root: string): string {
  const hash = createHash('sha256');
  // An old package has not got all of them, and is another build for that.
  for (const folder of FOLDERS.filter((name) => existsSync(join(root, name)))) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => IS_SOURCE.test(name)).sort()) {
      hash.update(file).update(readFileSync(join(root, folder, file)));
    }
  }
  return hash.digest('hex').slice(0, DIGEST_LENGTH);
}

let own: string | undefined;

/** @returns that of the code that asks */
export function ownRelease(): string {
  own ??= releaseOf(join(import.meta.dirname, '../..'));
  return own;
}
