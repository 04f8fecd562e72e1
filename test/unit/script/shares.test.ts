import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arrivalsOf, type Phase } from '../../../plugin/script/load/phases.ts';
import { sharedPhases } from '../../../plugin/script/load/shares.ts';
import { CapacityError } from '../../../protocol/errors.ts';

const PHASES: Record<string, Phase> = {
  'a flat ramp': { duration: 10, arrivalRate: 1050, rampTo: 1050 },
  'a rate': { duration: 10, arrivalRate: 1050 },
  'a count': { duration: 10, arrivalCount: 10_001 },
  'a flat ramp of a fractional rate': { duration: 7, arrivalRate: 142.3, rampTo: 143.3 },
};

const PAUSE: Phase = { pause: 5 };

function sumOfShares(phase: Phase, hosts: number): number {
  const shares = Array.from({ length: hosts }, (_, index) => sharedPhases([phase, PAUSE], { hosts, index }));
  for (const [, pause] of shares) assert.deepEqual(pause, PAUSE);
  return shares.reduce((sum, [share = {}]) => sum + arrivalsOf(share), 0);
}

describe('the shares of a phase', () => {
  for (const [name, phase] of Object.entries(PHASES)) {
    it(`add up to exactly the arrivals of ${name}, however many hosts`, () => {
      for (const hosts of [1, 2, 3, 7, 10])
        assert.equal(sumOfShares(phase, hosts), arrivalsOf(phase), `${hosts} hosts`);
    });
  }

  it('without an index are all the same, or none', () => {
    const share = (hosts: number) => sharedPhases([PHASES['a flat ramp'] as Phase], { hosts, index: undefined })[0];
    assert.deepEqual(share(3), { duration: 10, arrivalRate: 350, rampTo: 350 });
    assert.throws(
      () => share(4),
      (error: CapacityError) =>
        error.code === 'RATE_IMPOSSIBLE' &&
        error.message.includes('phase 1 cannot be divided among 4 hosts: 1050 arrivals/s, in equal shares') &&
        error.fix === 'number the hosts (CAPACITY_HOST=0 to 3), use 3 or 5 hosts, or change the rate',
    );
  });

  it('leave no host without arrivals', () => {
    assert.throws(() => sharedPhases([{ duration: 2, arrivalCount: 2 }], { hosts: 3, index: 2 }), CapacityError);
  });

  it('of a slope keep its form, where its rounded seconds allow that', () => {
    const slope: Phase = { duration: 3, arrivalRate: 10, rampTo: 30 };
    assert.deepEqual(sharedPhases([slope], { hosts: 2, index: 1 }), [{ duration: 3, arrivalRate: 5, rampTo: 15 }]);
    assert.throws(() => sharedPhases([{ ...slope, rampTo: 31 }], { hosts: 7, index: 0 }), CapacityError);
  });

  it('divide `maxVusers`, too', () => {
    const phase: Phase = { duration: 2, arrivalRate: 6, rampTo: 6, maxVusers: 10 };
    const shares = [0, 1, 2].map((index) => sharedPhases([phase], { hosts: 3, index })[0]?.maxVusers);
    assert.deepEqual(shares, [4, 3, 3]);
  });
});
