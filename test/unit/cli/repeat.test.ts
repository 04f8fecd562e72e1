import assert from 'node:assert/strict';
import { it } from 'node:test';
import { varySchema } from '../../../plugin/cli/repeat.ts';

it('repeat varies one environment variable between two values', () => {
  assert.deepEqual(varySchema.parse('COMPRESSION=off,on'), { COMPRESSION: ['off', 'on'] });
  assert.deepEqual(varySchema.parse('TUNING=,ws'), { TUNING: ['', 'ws'] });
  for (const wrong of ['COMPRESSION', 'A=1', 'A=1,1', 'A=1,2,3', '=1,2']) {
    assert.throws(() => varySchema.parse(wrong), /NAME=a,b/, wrong);
  }
});
