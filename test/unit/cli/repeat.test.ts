import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shareSchema } from '../../../plugin/cli/margin.ts';
import { varySchema } from '../../../plugin/cli/repeat.ts';
import { assertEach } from '../../helpers/columns.ts';

it('repeat varies one environment variable between two values', () => {
  assert.deepEqual(varySchema.parse('COMPRESSION=off,on'), { COMPRESSION: ['off', 'on'] });
  assert.deepEqual(varySchema.parse('TUNING=,ws'), { TUNING: ['', 'ws'] });
  for (const wrong of ['COMPRESSION', 'A=1', 'A=1,1', 'A=1,2,3', '=1,2']) {
    assert.throws(() => varySchema.parse(wrong), /NAME=a,b/, wrong);
  }
});

it('repeat detects a share that is written in percent', () => {
  assertEach(['20%', '2.5 %'], (text) => shareSchema.parse(text), [0.2, 0.025]);
  for (const wrong of ['20', '0%', '-5%', 'x%']) assert.throws(() => shareSchema.parse(wrong), /such as 20%/, wrong);
});
