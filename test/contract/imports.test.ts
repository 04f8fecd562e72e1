/** Holds the table of CONTRIBUTING.md: which folder may import which. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

/** The longest matching folder owns a file. `server/stack` is listed apart: only the hook may start a stack. */
const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  'plugin/fleet': ['protocol'],
  'plugin/engine': ['protocol', 'plugin/fleet'],
  'plugin/hook': ['protocol', 'report', 'server/stack'],
  report: ['protocol'],
  server: ['protocol'],
  'server/stack': ['protocol'],
};

function ownerOf(path: string): string {
  const folders = Object.keys(MAY_IMPORT).filter((folder) => path.startsWith(`${folder}/`));
  return folders.sort((a, b) => b.length - a.length)[0] ?? path.split('/')[0] ?? path;
}

function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1] as string);
  return found.map((target) =>
    normalize(join(dirname(path), target))
      .split(sep)
      .join('/'),
  );
}

const sources = globSync(['protocol/**/*.ts', 'plugin/**/*.ts', 'report/**/*.ts', 'server/**/*.ts'], {
  cwd: root,
  exclude: (name) => name.includes('node_modules') || name.endsWith('/dist'),
});

test('there are sources of every folder in the table', () => {
  const owners = new Set(sources.map(ownerOf));
  for (const folder of Object.keys(MAY_IMPORT)) assert.ok(owners.has(folder), `no sources in ${folder}`);
});

test('no folder imports what it may not', () => {
  const violations = sources.flatMap((path) => {
    const owner = ownerOf(path);
    const allowed = [owner, ...(MAY_IMPORT[owner] ?? [])];
    return importsOf(path)
      .filter((target) => !allowed.includes(ownerOf(target)))
      .map((target) => `${path} imports ${target}, but ${owner} may only import ${allowed.join(', ')}`);
  });
  assert.deepEqual(violations, []);
});
