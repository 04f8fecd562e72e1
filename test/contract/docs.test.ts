/** Locks pages to the code: the reference, which is generated, and tables that say what tests hold. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { referencePages } from '../../docs/reference/generate.ts';
import { keysOf, nodeOf } from '../../docs/reference/schema.ts';
import { optionRows } from '../../docs/reference/tables.ts';
import { column } from '../helpers/columns.ts';
import { codes, page, plain, ROOT, rows, section } from '../helpers/pages.ts';
import { MAY_IMPORT } from '../helpers/rooms.ts';

function assertSame(documented: Iterable<string>, existing: Iterable<string>): void {
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

describe('the reference', () => {
  const pages = referencePages();

  for (const [path, content] of pages) {
    const name = basename(path);
    it(`${name} is that of this version`, () => {
      const message = `docs/reference/${name} differs from the code: run npm run docs:reference`;
      assert.ok(page(`docs/reference/${name}`) === content, message);
    });
  }

  it('has no other pages', () => {
    const written = globSync('docs/reference/*.md', { cwd: ROOT }).map((path) => join(ROOT, path));
    assertSame(written, pages.keys());
  });
});

describe('a key of a schema', () => {
  const rowsOf = (schema: z.ZodType) => optionRows(nodeOf(schema));
  const number = z.number().describe('a number');

  it('is refused without a description', () => {
    assert.throws(() => rowsOf(z.object({ outer: z.object({ number, inner: z.number() }) })), /describe outer\.inner/);
  });

  it('has its values and its default', () => {
    const schema = z.object({
      share: z.number().min(0).max(1).default(0.5).describe('a share'),
      kind: z.enum(['a', 'b']).describe('a kind'),
    });
    assert.deepEqual(rowsOf(schema), [
      ['`share`', '0–1', '0.5', 'a share'],
      ['`kind`', '`a`, `b`', 'required', 'a kind'],
    ]);
  });

  it('is found inside of lists, records and unions, once', () => {
    const inner = z.object({ number });
    const paths = keysOf(nodeOf(z.object({ list: z.array(inner), record: z.record(z.string(), inner) })));
    assert.deepEqual(
      paths.flatMap(({ children }) => children.map(({ path }) => path)),
      ['list[].number', 'record.*.number'],
    );
    const oneOrMany = keysOf(nodeOf(z.object({ one: z.union([inner, z.array(inner)]) })));
    assert.deepEqual(column(oneOrMany[0]?.children, 'path'), ['one.number']);
  });
});

describe('guide/writing-scenarios.md', () => {
  it('has a test for each difference from other engines', () => {
    const table = section(page('docs/guide/writing-scenarios.md'), 'Coming from another engine');
    const tests = page('test/unit/virtual-user/differences.test.ts').matchAll(/^test\('(.*)',/gm);
    assertSame(
      rows(table).map(([name]) => plain(name ?? '')),
      [...tests].map(([, name]) => name as string),
    );
  });
});

describe('CONTRIBUTING.md', () => {
  it('has the import rules that imports.test.ts holds', () => {
    const map = section(page('CONTRIBUTING.md'), 'Map');
    for (const [room, allowed] of Object.entries(MAY_IMPORT)) {
      const row = rows(map).find(([folder]) => folder === `\`${room}/\``);
      assert.ok(row, `${room} is not in the map`);
      assertSame(codes(row[2]), allowed);
    }
  });
});
