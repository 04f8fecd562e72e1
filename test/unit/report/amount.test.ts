import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Amount, amount, amountText, cellText, shareAmount } from '../../../report/model/amount.ts';

const KB = 1024;

const few = { ...amount('kilobytes', null), why: 'too few', next: 'try more' };
const wide = { ...few, interval: { low95: 0, high95: 137 * KB } };

const CASES: [what: Amount, sentence: string, cell: string][] = [
  [amount('kilobytes', 12.1 * KB), '12.1 KB', '12.1'],
  [amount('kilobytes', 100 * KB, { low95: 96 * KB, high95: 104 * KB }), '100.0 KB ± 4 %', '100.0 ± 4 %'],
  [amount('kilobytes', 100 * KB, { low95: 99.6 * KB, high95: 100.4 * KB }), '100.0 KB ± 0.4 %', '100.0 ± 0.4 %'],
  [amount('kilobytes', null, { low95: 0, high95: 137 * KB }), 'between 0.0 and 137.0 KB (95 %)', '0.0 to 137.0'],
  [wide, 'too few, between 0.0 and 137.0 KB (95 %); try more', '0.0 to 137.0'],
  [{ ...amount('kilobytes', 12.1 * KB), isAtLeast: true }, 'at least 12.1 KB', '≥ 12.1'],
  [few, 'too few; try more', '–'],
  [amount('milliseconds', undefined), 'not measured', '–'],
  [amount('milliseconds', 0.0123), '0.012 ms', '0.012'],
  [amount('milliseconds', 9.876), '9.88 ms', '9.88'],
  [amount('perSecond', 500), '500.0/s', '500.0'],
  // The share is rounded down, because 100 % means all.
  [shareAmount(9_999_999, 10_000_000), '99.99 %', '99.99'],
  [shareAmount(3, 3), '100 %', '100'],
  [shareAmount(0, 0), 'not measured', '–'],
  [amount('size', 129), '129 B', '129 B'],
  [amount('count', 12_345), '12,345', '12,345'],
];

for (const [what, sentence, cell] of CASES) {
  it(`prints a figure in the same form everywhere: ${sentence}`, () => {
    assert.equal(amountText(what), sentence);
    assert.equal(cellText(what, true), cell);
  });
}
