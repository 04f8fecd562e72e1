/** The JSON Schema on the site is that of the result document, and accepts what runs have written. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { RESULT_SCHEMA, resultJsonSchema } from '../../docs/reference/generate.ts';
import { readResult } from '../../report/read.ts';
import { ROOT } from '../helpers/pages.ts';
import { perfectResult } from '../helpers/results.ts';

describe('result.schema.json', () => {
  const published = JSON.parse(readFileSync(RESULT_SCHEMA, 'utf8'));
  // Read back: another implementation's validator would be a dependency for this test alone.
  const schema = z.fromJSONSchema(published);

  it('is that of this version: npm run docs:reference', () => {
    assert.deepEqual(published, resultJsonSchema());
  });

  it('accepts results of this version, older ones as they are read, and newer ones with further keys', () => {
    const written = globSync('docs/reports/*/result.json', { cwd: ROOT }).map((path) => readResult(join(ROOT, path)));
    const results: object[] = [perfectResult(), ...written];
    assert.ok(results.length > 3);
    for (const result of results) {
      const { error } = schema.safeParse({ ...result, laterKey: 1 });
      assert.equal(error, undefined, error?.message);
    }
  });

  it('refuses what is none', () => {
    const { connections, ...rest } = perfectResult();
    assert.ok(!schema.safeParse(rest).success);
    assert.ok(!schema.safeParse({ ...rest, connections: { ...connections, failed: 'none' } }).success);
  });
});
