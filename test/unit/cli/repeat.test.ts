import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseVariants } from '../../../plugin/cli/repeat.ts';
import { turns } from '../../../plugin/cli/runs/repeat-runs.ts';

describe('repeat', () => {
  it('of two scenarios takes turns, and begins each round with the one that ended the last', () => {
    assert.deepEqual(turns(2, 3), [0, 1, 1, 0, 0, 1]);
    assert.deepEqual(turns(1, 3), [0, 0, 0]);
  });

  it('varies one environment variable between two values', () => {
    assert.deepEqual(parseVariants('COMPRESSION=off,on'), { name: 'COMPRESSION', values: ['off', 'on'] });
    assert.deepEqual(parseVariants('TUNING=,ws'), { name: 'TUNING', values: ['', 'ws'] });
    for (const wrong of ['COMPRESSION', 'A=1', 'A=1,1', 'A=1,2,3', '=1,2']) {
      assert.throws(() => parseVariants(wrong), /NAME=a,b/, wrong);
    }
  });
});
