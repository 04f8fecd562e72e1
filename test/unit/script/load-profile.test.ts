import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configuredRatePerSec, resizedPhases } from '../../../plugin/script/load/load-profile.ts';
import {
  arrivalsOf,
  type Phase,
  phasesSchema,
  totalArrivals,
  totalSeconds,
} from '../../../plugin/script/load/phases.ts';

it('a phase has the arrivals that Artillery makes of it', () => {
  for (const [phase, arrivals] of [
    [{ duration: 2, arrivalRate: 500, rampTo: 500 }, 1000],
    [{ duration: 3, arrivalRate: 4 }, 12],
    [{ duration: 10, arrivalCount: 7 }, 7],
    [{ pause: 5 }, 0],
    [{ duration: 5, arrivalRate: 0 }, 0],
    [{ duration: 1, arrivalRate: 1, rampTo: 4 }, 3],
    // Rounded in each second: 0, 1.67, 3.33, 5.
    [{ duration: 4, rampTo: 5 }, 10],
    // 1, 1.5, 2 become 1, 2, 2.
    [{ duration: 3, arrivalRate: 1, rampTo: 2 }, 5],
  ] as [Phase, number][]) {
    assert.equal(arrivalsOf(phase), arrivals, JSON.stringify(phase));
  }
});

describe('phases as people write them', () => {
  it('become seconds', () => {
    const phases = phasesSchema.parse([{ duration: '1m', arrivalRate: '2' }, { pause: '500ms' }, { pause: 2 }]);
    assert.deepEqual([totalSeconds(phases), totalArrivals(phases)], [62.5, 120]);
  });

  it('are refused at their place', () => {
    const wrong: [phase: object, key?: string][] = [
      // Artillery leaves these out, so that those after them are no longer where they stand in the script.
      ...[{ arrivalRate: 0 }, { arrivalCount: 0 }, { arrivalRate: 0, rampTo: 0 }].map((rate): [object] => [
        { duration: 2, ...rate },
      ]),
      [{ duration: 2 }],
      [{ arrivalRate: 2 }],
      [{ duration: 2, arrivalRate: 2.5 }],
      ...[0, '0m', 'two minutes', -1, null].map((pause): [object, string] => [{ pause }, 'pause']),
    ];
    for (const [phase, ...path] of wrong) {
      const { error } = phasesSchema.safeParse([{ duration: 2, arrivalRate: 5 }, phase]);
      assert.deepEqual(error?.issues[0]?.path, [1, ...path], JSON.stringify(phase));
    }
    assert.deepEqual(phasesSchema.safeParse([{ pause: 1 }]).error?.issues[0]?.path, []);
  });
});

describe('the same load at another rate', () => {
  const at = (RATE: number, given: Phase[]) => resizedPhases(given, { RATE, STOCK_ENGINE: 'socketio' });
  const phases = [
    { name: 'ramp', duration: 2, arrivalRate: 500, rampTo: 500, maxVusers: 9 },
    { pause: 5 },
    { duration: 3, arrivalRate: 500, rampTo: 500 },
  ];

  it("keeps every phase's arrivals, in whole seconds", () => {
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

  it('keeps names, pauses and limits, and any number of arrivals', () => {
    const [first, second] = at(250, phases);
    assert.deepEqual(first, { name: 'ramp', duration: 4, arrivalRate: 250, rampTo: 250, maxVusers: 9 });
    assert.equal(second, phases[1]);
    assert.deepEqual(at(100, [{ duration: 1, arrivalCount: 9973 }]).map(arrivalsOf), [9973]);
  });

  it('is computed over the time of arrivals only', () => {
    assert.equal(configuredRatePerSec(phases), 500);
    assert.equal(configuredRatePerSec([{ pause: 1 }]), null);
  });
});
