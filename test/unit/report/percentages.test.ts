import assert from 'node:assert/strict';
import { it } from 'node:test';
import { amount, amountText } from '../../../report/model/amount.ts';
import { changeText, exactDecimalsText, isShownInPercent, percentOf } from '../../../report/text/format.ts';

it('gives no percentage of a value near zero', () => {
  assert.equal(isShownInPercent(100, 61, -90), true);
  assert.equal(isShownInPercent(10, 61), false);
  assert.equal(isShownInPercent(0, 0), false);
  assert.equal(changeText(0.094), '9 %');
  assert.equal(changeText(46.91), '48 times as much');
});

it('gives the margin of a value near zero in its unit', () => {
  const margin = (value: number) => amountText(amount('kilobytes', value, { low95: 0, high95: 10_240 }));
  assert.equal(margin(102.4), '0.1 KB ± 9.9 KB');
  assert.equal(margin(0), '0.0 KB ± 10.0 KB');
  assert.equal(margin(9216), '9.0 KB ± 11 %');
});

it('rounds no small value to zero, and no large share to 100 %', () => {
  const texts = [exactDecimalsText(0.0004, 2), exactDecimalsText(-0.0004, 1), exactDecimalsText(0, 2)];
  assert.deepEqual(texts, ['0.0004', '-0.0004', '0.00']);
  assert.equal(exactDecimalsText(0.1 + 0.2 - 0.3, 2), '0.00', 'a rounding error');
  assert.deepEqual(
    [percentOf(1, 100_000), percentOf(99_999, 100_000), percentOf(0, 5)],
    ['0.001 %', '99.99 %', '0.00 %'],
  );
});
