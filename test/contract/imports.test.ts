/** Enforces the map of CONTRIBUTING.md: which room can import which. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { column } from '../helpers/columns.ts';
import { importsOf, inCycles, readImports, SOURCE_FOLDERS, sourceFiles } from '../helpers/imports.ts';
import { codes, page, rows, section } from '../helpers/pages.ts';

/** Which rooms each room may import. */
const MAP = new Map(
  rows(section(page('CONTRIBUTING.md'), 'Map'))
    .map(([folder = '', , allowed]) => [folder.replace(/[`]|\/`$/g, ''), codes(allowed)] as const)
    .filter(([room]) => SOURCE_FOLDERS.includes(room.split('/')[0] ?? '')),
);

/** The longest matching folder owns a file. @returns the topmost folder of a file that is in no room */
function roomOf(path: string): string {
  const rooms = [...MAP.keys()].filter((room) => path.startsWith(`${room}/`));
  return rooms.sort((a, b) => b.length - a.length)[0] ?? path.split('/')[0] ?? path;
}

const imports = readImports();
const crossing = imports
  .map(({ from, to }) => ({ from: roomOf(from), to: roomOf(to), line: `${from} imports ${to}` }))
  .filter(({ from, to }) => from !== to);

test('every room of the map has sources', () => {
  const rooms = new Set(sourceFiles('ts').map(roomOf));
  assert.deepEqual([...rooms].sort(), [...MAP.keys()].sort());
});

test('no room imports one that the map does not allow', () => {
  assert.ok(crossing.length > 0);
  const violations = crossing.filter(({ from, to }) => !MAP.get(from)?.includes(to));
  assert.deepEqual(violations, []);
});

test('imports between rooms, and between files, have no cycle, type-only imports included', () => {
  assert.deepEqual(inCycles(crossing), []);
  assert.deepEqual(inCycles(imports), []);
});

test('imports of every kind are found, and cycles', () => {
  const text = `
    import { a } from './a.ts';
    import type { B } from '../b.ts';
    import './c.ts';
    export type { D } from './d.ts';
    export * from './e.ts';
    const F: typeof import('./f.ts') = await import('./g.ts');
    import { readFile } from 'node:fs';`;
  const found = importsOf('x/y.ts', text);
  assert.deepEqual(column(found, 'to'), ['x/a.ts', 'b.ts', 'x/c.ts', 'x/d.ts', 'x/e.ts', 'x/f.ts', 'x/g.ts']);
  const back = { from: 'x/e.ts', to: 'x/y.ts' };
  assert.deepEqual(inCycles([...found, back]), [{ from: 'x/y.ts', to: 'x/e.ts' }, back]);
});
