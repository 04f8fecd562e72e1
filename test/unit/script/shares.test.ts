import assert from 'node:assert/strict';
import { it } from 'node:test';
import { arrivalsOf, type Phase } from '../../../plugin/script/load/phases.ts';
import { readHost, sharedPhases } from '../../../plugin/script/load/shares.ts';

const PAUSE: Phase = { pause: 5 };
const FLAT: Phase = { duration: 10, arrivalRate: 1050, rampTo: 1050 };

it('add up to exactly the arrivals of a phase, however many hosts', () => {
  for (const phase of [
    FLAT,
    { duration: 10, arrivalRate: 1050 },
    { duration: 10, arrivalCount: 10_001 },
    { duration: 7, arrivalRate: 142.3, rampTo: 143.3 },
  ]) {
    for (const hosts of [1, 2, 3, 7, 10]) {
      const shares = Array.from({ length: hosts }, (_, index) => sharedPhases([phase, PAUSE], { hosts, index }));
      for (const [, pause] of shares) assert.deepEqual(pause, PAUSE);
      const sum = shares.reduce((total, [share = {}]) => total + arrivalsOf(share), 0);
      assert.equal(sum, arrivalsOf(phase), `${JSON.stringify(phase)} on ${hosts} hosts`);
    }
  }
});

it('keep the form of the phase', () => {
  const slope: Phase = { duration: 3, arrivalRate: 10, rampTo: 30 };
  assert.deepEqual(sharedPhases([slope], { hosts: 2, index: 1 }), [{ duration: 3, arrivalRate: 5, rampTo: 15 }]);
  assert.deepEqual(sharedPhases([FLAT], { hosts: 3, index: undefined }), [
    { duration: 10, arrivalRate: 350, rampTo: 350 },
  ]);
  const limited: Phase = { duration: 2, arrivalRate: 6, rampTo: 6, maxVusers: 10 };
  const most = [0, 1, 2].map((index) => sharedPhases([limited], { hosts: 3, index })[0]?.maxVusers);
  assert.deepEqual(most, [4, 3, 3]);
});

it('are refused where they cannot add up, are not equal without numbers, or are empty', () => {
  for (const [phase, hosts, index, rooms] of [
    [FLAT, 4, undefined, 1],
    [FLAT, 3, undefined, 2],
    [{ duration: 2, arrivalCount: 2 }, 3, 2, 1],
    [{ duration: 3, arrivalRate: 10, rampTo: 31 }, 7, 0, 1],
  ] as [Phase, number, number | undefined, number][]) {
    assert.throws(() => sharedPhases([phase], { hosts, index }, rooms), { code: 'RATE_IMPOSSIBLE' });
  }
});

it('are those of the environment', () => {
  const env = { CAPACITY_CONDUCTOR: 'line', CAPACITY_HOSTS: '3' };
  assert.equal(readHost({ ...env, CAPACITY_CONDUCTOR: '' }), undefined);
  assert.deepEqual(readHost(env), { conductor: 'line', share: { hosts: 3, index: undefined } });
  assert.deepEqual(readHost({ ...env, CAPACITY_HOST: '2' })?.share, { hosts: 3, index: 2 });
  for (const wrong of [{ CAPACITY_HOST: '3' }, { CAPACITY_HOST: '-1' }, { CAPACITY_HOSTS: '0' }]) {
    assert.throws(() => readHost({ ...env, ...wrong }), { code: 'CONFIG_INVALID' });
  }
});
