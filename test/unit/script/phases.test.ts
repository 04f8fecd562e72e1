import assert from 'node:assert/strict';
import { test } from 'node:test';
import { phasesSchema } from '../../../plugin/script/load/phases.ts';

const ramp = { duration: 2, arrivalRate: 5, rampTo: 5 };

function messageOf(phase: object): string | undefined {
  return phasesSchema.safeParse([ramp, phase]).error?.issues[0]?.message;
}

test('a phase without any length is told so, and other mistakes what a length looks like', () => {
  for (const zero of [0, '0', '0m']) assert.equal(messageOf({ pause: zero }), 'must be longer than 0');
  for (const wrong of ['two minutes', -1, null]) {
    assert.equal(messageOf({ pause: wrong }), 'expected seconds, or a duration such as "2m"');
  }
  assert.equal(messageOf({ pause: '1m' }), undefined);
});
