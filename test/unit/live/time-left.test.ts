import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTimeLeft } from '../../../plugin/live/live-figures.ts';

it('the time left does not run during the warm-up, and begins anew with each planned part of the run', () => {
  const secondsLeft = createTimeLeft({ phases: 100, leave: 0, hold: 20, broadcasts: 50 });
  const stages = Object.entries({ baseline: 30, ramp: 60, plateau: 100, hold: 170, broadcasts: 190, drain: 260 });
  const measuring = secondsLeft([], 0) - 170;
  const left = (atSeconds: number) => {
    const begun = stages.filter(([, t]) => t <= atSeconds).map(([name, t]) => ({ name, t }));
    return secondsLeft(begun, atSeconds) - measuring;
  };
  assert.deepEqual([50, 60, 65, 100, 110].map(left), [170, 170, 165, 130, 120]);
  assert.equal(left(170), 70, 'the phases took 10 s longer');
  assert.deepEqual([180, 190, 235, 260, 261].map(left), [60, 50, 5, 0, -1]);
});
