/**
 * Checks that `npm install` in a checkout prints no warning on any Node that npm supports, and that the packages run on
 * the installed Node.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { satisfies } from 'semver';
import { assertEach } from '../helpers/columns.ts';
import { ROOT } from '../helpers/pages.ts';

interface Manifest {
  version: string;
  engines?: { node?: string };
  /** Fields that occur only in the lockfile. */
  optional?: boolean;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const locked = Object.entries(read('package-lock.json').packages as Record<string, Manifest>);

function accepts({ engines }: Manifest, node: string): boolean {
  return satisfies(node, engines?.node ?? '*');
}

it('installing with npm prints no warning from Node 20.19 on', () => {
  const own = globSync(['package.json', 'plugin/*/package.json', 'server/*/package.json'], { cwd: ROOT });
  const manifests = [...locked, ...own.map((path): [string, Manifest] => [path, read(path)])];
  const warned = manifests.filter(([, manifest]) => !manifest.optional && !accepts(manifest, '20.19.0'));
  const message = 'the right Node comes as a dependency: take the `engines` of these out of package-lock.json';
  assertEach(warned, ([path]) => path, [], message);
});

it('every installed package accepts the Node that is installed with it', () => {
  const { version } = read('node_modules/node/package.json') as Manifest;
  const installed = locked.map(([path]) => join(path, 'package.json')).filter((path) => existsSync(join(ROOT, path)));
  assert.ok(installed.length > 100);
  const refusing = installed.filter((path) => !accepts(read(path), version));
  assert.deepEqual(refusing, []);
});

it('`npm ci` finds the binaries of every platform in the lockfile', () => {
  const names = new Set(locked.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)));
  const missing = locked.flatMap(([, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !names.has(name)),
  );
  const message =
    'npm leaves out packages that its registry does not have: add version, cpu, os and libc of these by hand';
  assert.deepEqual(missing, [], message);
});

it('the lockfile names no registry, so that packages come from the user’s own', () => {
  const elsewhere = locked.filter(([, { resolved }]) => resolved?.includes(':'));
  assertEach(elsewhere, ([path]) => path, []);
});
