/** What the zoo shows is in the documentation: each lie and fault in a row of the table, with all of its reasons. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import { codes, page, plain, rows, section } from '../helpers/pages.ts';
import { ZOO } from '../helpers/zoo/index.ts';

const table = rows(section(page('docs/method/verdict.md'), 'What a run notices, and what it cannot'));

describe('the table of what a run notices', () => {
  for (const { name, rows: named = [], reasons } of ZOO) {
    it(`has the reasons for a server that ${name}`, () => {
      const cells = named.map((row) => table.find(([first = '']) => plain(first) === row));
      assert.equal(cells.includes(undefined), false, `rows: ${named.join('; ')}`);
      const given = cells.flatMap((row) => codes(row?.[1]));
      assert.deepEqual(
        reasons.filter((code) => !given.includes(code)),
        [],
      );
    });
  }

  it('names reasons that exist', () => {
    const isKnown = (code: string) => code.endsWith('…') || code in VERDICT_REASONS || code === 'coverage';
    assert.deepEqual(
      table.flatMap(([, reason]) => codes(reason)).filter((code) => !isKnown(code)),
      [],
    );
  });
});
