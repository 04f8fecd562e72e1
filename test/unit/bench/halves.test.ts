import assert from 'node:assert/strict';
import { test } from 'node:test';
import { halvesOf } from '../../../bench/calibrate/differences.ts';

test('four values can be divided in two in three ways', () => {
  assert.deepEqual(halvesOf(['a', 'b', 'c', 'd']), [
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    [
      ['a', 'c'],
      ['b', 'd'],
    ],
    [
      ['a', 'd'],
      ['b', 'c'],
    ],
  ]);
});

test('ten values have 126 divisions, no two of them alike', () => {
  const halves = halvesOf([...'abcdefghij']);
  assert.equal(halves.length, 126);
  assert.equal(new Set(halves.map(([half]) => half.join())).size, 126);
});
