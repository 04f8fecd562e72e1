import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configuredRatePerSec } from '../../../plugin/script/load/load.ts';
import {
  arrivalsOf,
  type Phase,
  phasesSchema,
  resizedPhases,
  totalArrivals,
  totalSeconds,
} from '../../../plugin/script/load/phases.ts';
import { phasesOfHost, readHostVariables } from '../../../plugin/script/load/shares.ts';

const flat = (duration: number, rate: number): Phase => ({ duration, arrivalRate: rate, rampTo: rate });
const PAUSE: Phase = { pause: 5 };

describe('arrivals', () => {
  for (const [phase, arrivals] of [
    [flat(2, 500), 1000],
    [{ duration: 3, arrivalRate: 4 }, 12],
    [{ duration: 10, arrivalCount: 7 }, 7],
    [PAUSE, 0],
    [{ duration: 5, arrivalRate: 0 }, 0],
    [{ duration: 1, arrivalRate: 1, rampTo: 4 }, 3],
    // Artillery rounds the rate of each second: 0, 1.67, 3.33, 5.
    [{ duration: 4, rampTo: 5 }, 10],
    [{ duration: 3, arrivalRate: 1, rampTo: 2 }, 5],
  ] as [Phase, number][]) {
    it(`the phase ${JSON.stringify(phase)} has ${arrivals} arrivals`, () => assert.equal(arrivalsOf(phase), arrivals));
  }
});

describe('phases of a scenario', () => {
  it('converts the phases of a scenario to seconds', () => {
    const phases = phasesSchema.parse([{ duration: '1m', arrivalRate: '2' }, { pause: '500ms' }, { pause: 2 }]);
    assert.deepEqual([totalSeconds(phases), totalArrivals(phases)], [62.5, 120]);
  });

  for (const [phase, ...place] of [
    // Artillery skips phases without arrivals, so the indices of later phases change.
    [{ duration: 2, arrivalRate: 0 }],
    [{ duration: 2, arrivalCount: 0 }],
    [{ duration: 2, arrivalRate: 0, rampTo: 0 }],
    [{ duration: 2 }],
    [{ arrivalRate: 2 }],
    [{ duration: 2, arrivalRate: 2.5 }],
    ...[0, '0m', 'two minutes', -1, null].map((pause) => [{ pause }, 'pause'] as const),
  ]) {
    it(`refuses an invalid phase with its path: ${JSON.stringify(phase)}`, () => {
      const { error } = phasesSchema.safeParse([{ duration: 2, arrivalRate: 5 }, phase]);
      assert.deepEqual(error?.issues[0]?.path, [1, ...place]);
    });
  }

  it('refuses a scenario whose phases are all pauses', () => {
    assert.deepEqual(phasesSchema.safeParse([{ pause: 1 }]).error?.issues[0]?.path, []);
  });
});

describe('the same load at another rate', () => {
  const at = (RATE: number, given: Phase[]) => resizedPhases(given, { RATE });
  const phases = [{ name: 'ramp', ...flat(2, 500), maxVusers: 9 }, PAUSE, flat(3, 500)];

  it('scaling phases to another rate keeps the arrivals of each phase, with durations in whole seconds', () => {
    for (const rate of [50, 97, 100, 250, 500, 750, 1000]) {
      const changed = at(rate, phases);
      assert.deepEqual(changed.map(arrivalsOf), phases.map(arrivalsOf));
      for (const { arrivalRate = 0, rampTo = 0, duration = 0, pause } of changed) {
        if (pause !== undefined) continue;
        assert.ok(Number.isInteger(duration) && duration >= 2);
        assert.ok((arrivalRate + rampTo) / 2 <= rate && rampTo - arrivalRate <= 1, `${arrivalRate} to ${rampTo}`);
      }
    }
  });

  it('scaling phases to another rate keeps the names, pauses and limits of phases', () => {
    assert.deepEqual(at(250, phases).slice(0, 2), [{ name: 'ramp', ...flat(4, 250), maxVusers: 9 }, PAUSE]);
    assert.deepEqual(at(100, [{ duration: 1, arrivalCount: 9973 }]).map(arrivalsOf), [9973]);
  });

  it('the mean arrival rate counts only phases with arrivals', () => {
    assert.deepEqual([configuredRatePerSec(phases), configuredRatePerSec([{ pause: 1 }])], [500, null]);
  });
});

describe('the shares of hosts', () => {
  const FLAT = flat(10, 1050);

  it('the shares of all hosts add up to exactly the arrivals of a phase', () => {
    for (const phase of [
      FLAT,
      { duration: 10, arrivalRate: 1050 },
      { duration: 10, arrivalCount: 10_001 },
      { duration: 7, arrivalRate: 142.3, rampTo: 143.3 },
    ]) {
      for (const hosts of [1, 2, 3, 7, 10]) {
        const shares = Array.from({ length: hosts }, (_, index) => phasesOfHost([phase, PAUSE], { hosts, index }));
        for (const [, pause] of shares) assert.deepEqual(pause, PAUSE);
        const sum = shares.reduce((total, [share = {}]) => total + arrivalsOf(share), 0);
        assert.equal(sum, arrivalsOf(phase), `${JSON.stringify(phase)} on ${hosts} hosts`);
      }
    }
  });

  it('the share of a host keeps the form of the phase', () => {
    const share = (phase: Phase, hosts: number, index?: number) => phasesOfHost([phase], { hosts, index })[0];
    const slope = { duration: 3, arrivalRate: 10, rampTo: 30 };
    assert.deepEqual(share(slope, 2, 1), { duration: 3, arrivalRate: 5, rampTo: 15 });
    assert.deepEqual(share(FLAT, 3), flat(10, 350));
    const limits = [0, 1, 2].map((index) => share({ ...flat(2, 6), maxVusers: 10 }, 3, index)?.maxVusers);
    assert.deepEqual(limits, [4, 3, 3]);
  });

  for (const [what, phase, hosts, index, rooms] of [
    ['would differ between unnumbered hosts', FLAT, 4, undefined, 1],
    ['have several rooms on unnumbered hosts', FLAT, 3, undefined, 2],
    ['are empty', { duration: 2, arrivalCount: 2 }, 3, 2, 1],
    ['cannot add up', { duration: 3, arrivalRate: 10, rampTo: 31 }, 7, 0, 1],
  ] as [string, Phase, number, number | undefined, number][]) {
    it(`refuses to divide a load among hosts if the shares ${what}`, () => {
      assert.throws(() => phasesOfHost([phase], { hosts, index }, rooms), { code: 'RATE_IMPOSSIBLE' });
    });
  }

  it('reads the share of a host from the environment', () => {
    const env = { CAPACITY_CONDUCTOR: 'token', CAPACITY_HOSTS: '3' };
    assert.equal(readHostVariables({ ...env, CAPACITY_CONDUCTOR: '' }), undefined);
    assert.deepEqual(readHostVariables(env), { conductor: 'token', share: { hosts: 3, index: undefined } });
    assert.deepEqual(readHostVariables({ ...env, CAPACITY_HOST: '2' })?.share, { hosts: 3, index: 2 });
    for (const wrong of [{ CAPACITY_HOST: '3' }, { CAPACITY_HOST: '-1' }, { CAPACITY_HOSTS: '0' }])
      assert.throws(() => readHostVariables({ ...env, ...wrong }), { code: 'CONFIG_INVALID' });
  });
});
