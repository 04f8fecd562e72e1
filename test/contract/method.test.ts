/** Locks the method to the code: its tables have layers that exist and every limit, and no reason of the catalogue is without a check. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { it } from 'node:test';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import { LIMITS } from '../../report/figures/limits.ts';
import { firstColumn, page, ROOT, section } from '../helpers/pages.ts';

function assertSame(documented: string[], existing: string[]): void {
  assert.ok(existing.length > 0);
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

it('the table of layers has figures of the samplers', () => {
  const figures = [...LAYERS, ...Object.values(FURTHER_LAYERS)].flatMap(({ figures }) => figures.map(({ id }) => id));
  const documented = firstColumn(section(page('docs/method/memory.md'), 'Layers'));
  assert.deepEqual(
    documented.filter((id) => !figures.includes(id)),
    [],
  );
});

it('the table of limits has every limit', () => {
  assertSame(firstColumn(section(page('docs/method.md'), 'Capacity')), LIMITS);
});

it('each reason is given somewhere', () => {
  const sources = globSync('plugin/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules', '**/dist'] });
  const text = sources.map(page).join();
  assert.deepEqual(
    Object.keys(VERDICT_REASONS).filter((code) => !text.includes(`'${code}'`)),
    [],
  );
});
