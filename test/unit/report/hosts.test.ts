import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { mismatches } from '../../../report/compare/comparability.ts';
import { generatorHost, perfectResult } from '../../helpers/results.ts';

function resultOf(...shares: number[]): Result {
  return {
    ...perfectResult(),
    generators: shares.map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index })),
  };
}

describe('several generator hosts', () => {
  it('of other shares are another load; which host has which is not', () => {
    const differences = (a: Result, b: Result) => mismatches([[a], [b]]).map(({ name }) => name);
    assert.deepEqual(differences(resultOf(0.6, 0.4), resultOf(0.4, 0.6)), []);
    assert.deepEqual(differences(resultOf(0.6, 0.4), resultOf(0.5, 0.5)), ['shares of the generator hosts']);
    assert.deepEqual(differences(perfectResult(), resultOf(0.5, 0.5)), ['shares of the generator hosts']);
  });
});
