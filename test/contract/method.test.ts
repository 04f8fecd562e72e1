/** Locks the method to the code: its tables have every layer, every limit, and every reason that the zoo's servers give. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import { LIMITS } from '../../report/figures/limits.ts';
import { codes, firstColumn, page, rows, section } from '../helpers/pages.ts';
import { ZOO } from '../helpers/zoo/index.ts';

function assertSame(documented: string[], existing: string[]): void {
  assert.ok(existing.length > 0);
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

it('the table of layers has every figure of the samplers', () => {
  const figures = [...LAYERS, ...Object.values(FURTHER_LAYERS)].flatMap(({ figures }) => figures.map(({ id }) => id));
  assertSame(firstColumn(section(page('docs/method/memory.md'), 'Layers')), figures);
});

it('the table of limits has every limit', () => {
  assertSame(firstColumn(section(page('docs/method.md'), 'Capacity')), LIMITS);
});

it('the table of what a run notices has every reason of the zoo, and no unknown one', () => {
  const table = rows(section(page('docs/method/verdict.md'), 'What a run notices'));
  const given = table.flatMap(([, reason]) => codes(reason)).filter((code) => code !== 'coverage');
  const missing = ZOO.flatMap(({ name, reasons }) =>
    reasons.filter((code) => !given.includes(code)).map((code) => `${name}: ${code}`),
  );
  assert.deepEqual(missing, []);
  assert.deepEqual(
    given.filter((code) => !(code in VERDICT_REASONS)),
    [],
  );
});
