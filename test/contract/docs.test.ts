/**
 * Compares pages of the documentation with the code: the generated reference, and tables that list parts of the code.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { RESULT_SCHEMA, referencePages, resultJsonSchema } from '../../docs/reference/generate.ts';
import { keysOf, nodeOf } from '../../docs/reference/schema.ts';
import { optionRows } from '../../docs/reference/tables.ts';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { EXPECTATIONS } from '../../protocol/codes/expectations.ts';
import { FINDINGS } from '../../protocol/codes/finding-codes.ts';
import { CAPACITY_LIMIT_NAMES } from '../../report/figures/limits.ts';
import { readResult } from '../../report/read.ts';
import { column } from '../helpers/columns.ts';
import { codes, firstColumn, page, plain, ROOT, rows, section } from '../helpers/pages.ts';
import { perfectResult } from '../helpers/results.ts';

function assertSame(documented: Iterable<string>, existing: Iterable<string>): void {
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

describe('the reference', () => {
  const pages = referencePages();

  it('the reference pages are generated from this version', () => {
    const written = globSync('docs/reference/*.md', { cwd: ROOT });
    assertSame(
      written.map((path) => join(ROOT, path)),
      pages.keys(),
    );
    const old = written.filter((path) => page(path) !== pages.get(join(ROOT, path)));
    assert.deepEqual(old, [], 'run npm run docs:reference');
  });
});

it('the method page lists every expectation of a run, with the metrics that replace it', () => {
  const listed = rows(section(page('docs/method.md'), 'Expectations')).map(([name = '', metrics = '']) => [
    plain(name),
    codes(metrics).map((metric) => metric.replace('…', '')),
  ]);
  assert.deepEqual(Object.fromEntries(listed), EXPECTATIONS);
});

it('the docs state the same effects of each finding as the catalogue of findings', () => {
  const effectOf: Record<string, (code: keyof typeof FINDINGS) => boolean> = {
    failed: (code) => 'fails' in FINDINGS[code],
    INVALID: (code) => (FINDINGS[code].invalidates as readonly string[]).includes('run'),
    SUSPECT: (code) => FINDINGS[code].invalidates.length > 0 && !effectOf.INVALID?.(code),
  };
  const sentences = globSync('docs/{method,guide/*,method/*}.md', { cwd: ROOT }).flatMap((path) => [
    ...page(path)
      .replaceAll(/\s+/g, ' ')
      .matchAll(/\b(SUSPECT|INVALID|failed) \(`([A-Z_]+)`/g),
  ]);
  const wrong = sentences.filter(([, effect = '', code]) => !effectOf[effect]?.(code as keyof typeof FINDINGS));
  assert.deepEqual(
    wrong.map(([sentence]) => sentence),
    [],
  );
  assert.ok(sentences.length > 10);
});

describe('a key of a schema', () => {
  const number = z.number().describe('a number');
  const inner = z.object({ number });

  it('refuses a schema key without a description', () => {
    const schema = z.object({ outer: z.object({ number, inner: z.number() }) });
    assert.throws(() => optionRows(nodeOf(schema)), /describe outer\.inner/);
  });

  it('the reference page lists the allowed values and the default of a schema key', () => {
    const share = z.number().min(0).max(1).default(0.5).describe('a share');
    const kind = z.enum(['a', 'b']).describe('a kind');
    assert.deepEqual(optionRows(nodeOf(z.object({ share, kind }))), [
      ['`share`', '0–1', '0.5', 'a share'],
      ['`kind`', '`a`, `b`', 'required', 'a kind'],
    ]);
  });

  it('the reference page lists each key inside lists, records and unions of a schema once', () => {
    const schemas = {
      list: z.array(inner),
      record: z.record(z.string(), inner),
      one: z.union([inner, z.array(inner)]),
    };
    const children = keysOf(nodeOf(z.object(schemas))).flatMap((key) => key.children);
    assert.deepEqual(column(children, 'path'), ['list[].number', 'record.*.number', 'one.number']);
  });
});

describe('the method', () => {
  it('the table of layers on the method page lists only figures that the samplers read', () => {
    const figures = [...LAYERS, ...Object.values(FURTHER_LAYERS)].flatMap((layer) => column(layer.figures, 'id'));
    const documented = firstColumn(section(page('docs/method/memory.md'), 'Layers'));
    assert.ok(documented.length > 0);
    assert.deepEqual(
      documented.filter((id) => !figures.includes(id)),
      [],
    );
  });

  it('the method page lists every limit on the number of connections', () => {
    assertSame(firstColumn(section(page('docs/method.md'), 'Capacity')), CAPACITY_LIMIT_NAMES);
  });

  it('the source code contains the code of each finding in the catalogue', () => {
    const sources = globSync('plugin/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules', '**/dist'] });
    const text = sources.map(page).join();
    assert.deepEqual(
      Object.keys(FINDINGS).filter((code) => !text.includes(`'${code}'`)),
      [],
    );
  });
});

it('each documented difference from other engines in guide/writing-scenarios.md has a test', () => {
  const table = section(page('docs/guide/writing-scenarios.md'), 'Coming from another engine');
  const tests = page('test/unit/virtual-user/differences.test.ts').matchAll(/^difference\(\s*'([^']*)',/gm);
  const documented = rows(table).map(([name]) => plain(name ?? ''));
  assertSame(
    documented,
    [...tests].map(([, name]) => name as string),
  );
});

describe('result.schema.json', () => {
  const published = JSON.parse(readFileSync(RESULT_SCHEMA, 'utf8'));
  // Converts the JSON Schema back to zod, so that the test needs no other validator.
  const schema = z.fromJSONSchema(published);

  it('result.schema.json is generated from this version: npm run docs:reference', () => {
    assert.deepEqual(published, resultJsonSchema());
  });

  it('result.schema.json accepts results of this version, migrated older ones, and newer ones', () => {
    const written = globSync('docs/reports/*/result.json', { cwd: ROOT }).map((path) => readResult(join(ROOT, path)));
    const results: object[] = [perfectResult(), ...written];
    assert.ok(results.length > 3);
    for (const result of results) {
      const { error } = schema.safeParse({ ...result, laterKey: 1 });
      assert.equal(error, undefined, error?.message);
    }
  });

  it('result.schema.json refuses a document that is not a result', () => {
    const { connections, ...rest } = perfectResult();
    assert.ok(!schema.safeParse(rest).success);
    assert.ok(!schema.safeParse({ ...rest, connections: { ...connections, failed: 'none' } }).success);
  });
});
