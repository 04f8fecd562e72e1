/** Locks the method to the code: its tables have every layer and every limit. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { LIMITS } from '../../report/figures/limits.ts';
import { firstColumn, page, section } from '../helpers/pages.ts';

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
