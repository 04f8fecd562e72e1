/** Texts in files of test/fixtures/golden. CONTRIBUTING.md has the command that updates them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export function assertGolden(t: TestContext, name: string, text: string): void {
  assert.doesNotMatch(text, /NaN|undefined|\bnull\b|Infinity|\[object/);
  t.assert.fileSnapshot(`${text.trimEnd()}\n`, join(import.meta.dirname, '../fixtures/golden', name), {
    serializers: [String],
  });
}
