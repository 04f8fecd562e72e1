/** Enforces the table of CONTRIBUTING.md: which room can import which. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCycle, importsOf, readImports } from '../helpers/imports.ts';
import { MAY_IMPORT, roomOf, SOURCE_FOLDERS } from '../helpers/rooms.ts';

const files = readImports(SOURCE_FOLDERS);

/** Imports from one room to another, with both files. */
const crossing = [...files].flatMap(([path, imports]) =>
  imports.flatMap(({ target }) => {
    const [from, to] = [roomOf(path), roomOf(target)];
    return from === to ? [] : [{ from, to, line: `${path} imports ${target}` }];
  }),
);

test('every room of the table has sources', () => {
  const rooms = new Set([...files.keys()].map(roomOf));
  for (const room of Object.keys(MAY_IMPORT)) assert.ok(rooms.has(room), `no sources in ${room}`);
});

test('no room imports one that the table does not allow', () => {
  assert.ok(crossing.length > 0);
  const violations = crossing
    .filter(({ from, to }) => !MAY_IMPORT[from]?.includes(to))
    .map(({ from, line }) => `${line}, but ${from} may only import ${MAY_IMPORT[from]?.join(', ') || 'nothing'}`);
  assert.deepEqual(violations, []);
});

test('imports between rooms have no cycle, type-only imports included', () => {
  const graph = new Map(Object.keys(MAY_IMPORT).map((room) => [room, new Set<string>()]));
  for (const { from, to } of crossing) graph.get(from)?.add(to);
  const cycle = findCycle(graph) ?? [];
  const imports = cycle
    .slice(1)
    .flatMap((to, index) => crossing.find((one) => one.from === cycle[index] && one.to === to)?.line ?? []);
  assert.deepEqual({ cycle, imports }, { cycle: [], imports: [] });
});

test('imports between files have no cycle, type-only imports included', () => {
  const graph = new Map([...files].map(([path, imports]) => [path, imports.map(({ target }) => target)]));
  assert.deepEqual(findCycle(graph), undefined);
});

test('imports of every kind are found', () => {
  const text = `
    import { a } from './a.ts';
    import type { B } from './b.ts';
    import { type C } from '../c.ts';
    import './side-effect.ts';
    export type { D } from './d.ts';
    export * from './e.ts';
    const F: typeof import('./f.ts') = await import('./g.ts');
    import { readFile } from 'node:fs';`;
  assert.deepEqual(importsOf('plugin/x/y.ts', text), [
    { target: 'plugin/x/a.ts', typeOnly: false, dynamic: false },
    { target: 'plugin/x/b.ts', typeOnly: true, dynamic: false },
    { target: 'plugin/c.ts', typeOnly: false, dynamic: false },
    { target: 'plugin/x/side-effect.ts', typeOnly: false, dynamic: false },
    { target: 'plugin/x/d.ts', typeOnly: true, dynamic: false },
    { target: 'plugin/x/e.ts', typeOnly: false, dynamic: false },
    { target: 'plugin/x/f.ts', typeOnly: true, dynamic: false },
    { target: 'plugin/x/g.ts', typeOnly: false, dynamic: true },
  ]);
  assert.throws(() => importsOf('plugin/x/y.ts', 'import {'), /plugin\/x\/y\.ts/);
});

test('a cycle is found and named', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['d', 'b']],
    ['d', []],
  ]);
  assert.deepEqual(findCycle(graph), ['b', 'c', 'b']);
  graph.set('c', ['d']);
  assert.equal(findCycle(graph), undefined);
});
