/**
 * Loads packages that users install only for certain studies. The packages have native code for one version of Node, so
 * they can be in a separate folder, next to the Node that runs the workers.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CapacityError } from '../protocol/codes/errors.ts';

interface Manifest {
  version: string;
  main?: string;
  exports?: { import?: string; '.'?: { import?: string } };
}

/**
 * @param wanted a package with its tested version: `eiows@11.1.1`
 * @param folder folder with a node_modules that contains the package; default: next to this package
 * @throws CapacityError NOT_INSTALLED, also if the package does not support this version of Node
 */
export async function importOptional<T>(
  wanted: string,
  folder: string | undefined,
): Promise<{ module: T; version: string }> {
  const [name = ''] = wanted.split('@');
  const folders =
    folder === undefined
      ? (createRequire(import.meta.filename).resolve.paths(name) ?? [])
      : [resolve(folder, 'node_modules')];
  const path = folders.map((modules) => join(modules, name)).find((path) => existsSync(join(path, 'package.json')));
  const fix = `for the Node of the workers (${process.version} now), npm install ${wanted}; if you use a separate folder (--prefix <folder>), set CAPACITY_MODULES=<folder>`;
  if (path === undefined) {
    const where = folder === undefined ? 'beside this package' : `in ${resolve(folder)}`;
    throw new CapacityError('NOT_INSTALLED', `${name} is not installed ${where}`, fix);
  }
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
  try {
    const module = (await import(pathToFileURL(join(path, entryOf(manifest))).href)) as T;
    return { module, version: manifest.version };
  } catch (cause) {
    const message = `${name} ${manifest.version} cannot be loaded by Node ${process.versions.node}: ${(cause as Error).message}`;
    throw new CapacityError('NOT_INSTALLED', message, fix, { cause });
  }
}

/**
 * Returns the entry file of a package. `require.resolve` refuses ESM-only packages, and `import.meta.resolve` accepts
 * no other folder.
 */
function entryOf({ exports, main = 'index.js' }: Manifest): string {
  return exports?.import ?? exports?.['.']?.import ?? main;
}
