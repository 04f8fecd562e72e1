/** Allowed imports between folders of the code. CONTRIBUTING.md shows them as a diagram and a table. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { column } from '../helpers/columns.ts';
import { importsOf, inCycles, readImports, sourceFiles } from '../helpers/imports.ts';
import { firstColumn, page, section } from '../helpers/pages.ts';

/** Folders that each folder may import, by the last part of the name. Every folder may import `protocol`. */
const ALLOWED: Record<string, string> = {
  protocol: '',
  'plugin/script': '',
  'plugin/fleet': '',
  'plugin/virtual-user': 'script fleet',
  'plugin/engine': 'script fleet virtual-user',
  'plugin/samplers': '',
  'plugin/run': 'script fleet virtual-user samplers stack',
  'plugin/result': 'report script samplers run',
  'plugin/findings': 'report script samplers run result',
  'plugin/doctor': 'report script samplers run stack',
  'plugin/live': 'report script samplers run result server',
  'plugin/conduct': 'report script samplers run result findings doctor live server stack',
  'plugin/series': 'report script run stack',
  'plugin/cli': 'report script virtual-user run result doctor conduct series server stack',
  'plugin/hook': 'script virtual-user samplers run result findings doctor conduct live report',
  report: '',
  server: '',
  'server/stack': '',
};

const nameOf = (room: string) => room.split('/').at(-1) as string;
const MAP = new Map(
  Object.entries(ALLOWED).map(([room, names]) => [
    room,
    Object.keys(ALLOWED).filter((other) => other !== room && ['protocol', ...names.split(' ')].includes(nameOf(other))),
  ]),
);

/**
 * @returns the folder of CONTRIBUTING.md's map to which a file belongs: the longest match, or else its topmost folder
 */
function roomOf(path: string): string {
  const rooms = [...MAP.keys()].filter((room) => path.startsWith(`${room}/`));
  return rooms.sort((a, b) => b.length - a.length)[0] ?? path.split('/')[0] ?? path;
}

const imports = readImports();
const crossing = imports
  .map(({ from, to }) => ({ from: roomOf(from), to: roomOf(to), line: `${from} imports ${to}` }))
  .filter(({ from, to }) => from !== to);

test('every folder of the import map contains sources', () => {
  const rooms = new Set(sourceFiles('ts').map(roomOf));
  assert.deepEqual([...rooms].sort(), [...MAP.keys()].sort());
});

test('no folder imports a folder that the import map does not allow', () => {
  assert.ok(crossing.length > 0);
  const violations = crossing.filter(({ from, to }) => !MAP.get(from)?.includes(to));
  assert.deepEqual(violations, []);
});

test('CONTRIBUTING.md lists every folder, and its arrows show exactly the allowed imports', () => {
  const contributing = page('CONTRIBUTING.md');
  assert.deepEqual(firstColumn(section(contributing, 'Rooms')), [...MAP.keys()]);
  const [, picture = ''] = /```mermaid\n([\s\S]*?)```/.exec(contributing) ?? [];
  const arrows = picture.split('\n').flatMap((line) => {
    const [from = [], to = []] = line.split('-->').map((side) => side.trim().split(' & '));
    return from.flatMap((source) => to.map((other) => ({ from: source, to: other })));
  });
  const reachedFrom = (room: string): string[] =>
    arrows.flatMap(({ from, to }) => (from === room ? [to, ...reachedFrom(to)] : []));
  for (const [room, allowed] of MAP) {
    const names = allowed.map(nameOf);
    const drawn = arrows.filter(({ from }) => from === nameOf(room)).map(({ to }) => to);
    const reached = ['protocol', ...reachedFrom(nameOf(room))];
    assert.deepEqual(
      drawn.filter((name) => !names.includes(name)),
      [],
      `${room} may not import`,
    );
    assert.deepEqual(
      names.filter((name) => !reached.includes(name)),
      [],
      `no arrow leads from ${room} to`,
    );
  }
});

test('imports between folders and between files have no cycle, including type-only imports', () => {
  assert.deepEqual(inCycles(crossing), []);
  assert.deepEqual(inCycles(imports), []);
});

test('the import check finds imports of every kind, and cycles', () => {
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
  const reverseImport = { from: 'x/e.ts', to: 'x/y.ts' };
  assert.deepEqual(inCycles([...found, reverseImport]), [{ from: 'x/y.ts', to: 'x/e.ts' }, reverseImport]);
});
