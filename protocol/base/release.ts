/**
 * Identifies the build of socketio-capacity: `0.1.0+3f2a9c1d5b7e`. Any commit can change the messages between engine,
 * plugin and generator hosts, but does not change the version number.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from './version.ts';

/** File in a published package that contains the digest of the package's sources. */
export const BUILD_DIGEST = 'build';
/** Folders with the sources of engine, plugin and generator hosts. */
const FOLDERS = ['protocol', 'plugin'];
const IS_SOURCE = /^(?!.*(^|\/)(node_modules|dist)\/).*\.ts$/;
const DIGEST_LENGTH = 12;

/** @param root folder with the code: a checkout, or `dist` in a package */
export function releaseOf(root: string, version = VERSION): string {
  const packed = join(root, BUILD_DIGEST);
  return `${version}+${existsSync(packed) ? readFileSync(packed, 'utf8') : sourceDigest(root)}`;
}

/** Returns a digest of the source files. It does not depend on the folder in which they are. */
export function sourceDigest(root: string): string {
  const hash = createHash('sha256');
  // Skips missing folders. Old packages lack some of the folders and get another digest.
  for (const folder of FOLDERS.filter((name) => existsSync(join(root, name)))) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => IS_SOURCE.test(name)).sort()) {
      hash.update(file).update(readFileSync(join(root, folder, file)));
    }
  }
  return hash.digest('hex').slice(0, DIGEST_LENGTH);
}

let cachedRelease: string | undefined;

/** Returns the release of the running code. */
export function ownRelease(): string {
  cachedRelease ??= releaseOf(join(import.meta.dirname, '../..'));
  return cachedRelease;
}
