import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTimeLeft } from '../../../plugin/live/live-figures.ts';

it('the time left does not run during the warm-up, and begins anew with each planned part of the run', () => {
  const secondsLeft = createTimeLeft({ phases: 100, leave: 0, hold: 20, broadcasts: 50 });
  const measuring = secondsLeft('warm-up', 0) - 170;
  const left = (stage: Parameters<typeof secondsLeft>[0], atSeconds: number) =>
    secondsLeft(stage, atSeconds * 1000) - measuring;

  assert.equal(left('baseline', 60), 170);
  assert.equal(left('ramp', 60), 170);
  assert.equal(left('plateau', 100), 130);
  assert.equal(left('ramp', 110), 120);
  assert.equal(left('hold', 170), 70, 'the phases took 10 s longer');
  assert.equal(left('broadcasts', 190), 50);
  assert.equal(left('broadcasts', 235), 5);
  assert.equal(left('drain', 260), 0);
  assert.equal(left('disconnect', 261), -1);
});
