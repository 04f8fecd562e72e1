/** What the zoo shows is in the documentation: each reason that a lie or fault gives is in the table, and no unknown one. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import { codes, page, rows, section } from '../helpers/pages.ts';
import { ZOO } from '../helpers/zoo/index.ts';

const table = rows(section(page('docs/method/verdict.md'), 'What a run notices'));
const given = table.flatMap(([, reason]) => codes(reason)).filter((code) => code !== 'coverage');

it('the table of what a run notices has every reason of the zoo', () => {
  assert.ok(ZOO.length > 0);
  const missing = ZOO.flatMap(({ name, reasons }) =>
    reasons.filter((code) => !given.includes(code)).map((code) => `${name}: ${code}`),
  );
  assert.deepEqual(missing, []);
});

it('the table of what a run notices names reasons that exist', () => {
  assert.deepEqual(
    given.filter((code) => !(code in VERDICT_REASONS)),
    [],
  );
});
