import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ONE_CONNECTION } from '../../../plugin/script/load/flow.ts';
import { configuredRatePerSec, resizedPhases } from '../../../plugin/script/load/load-profile.ts';
import {
  arrivalsOf,
  type Phase,
  phasesSchema,
  totalArrivals,
  totalSeconds,
} from '../../../plugin/script/load/phases.ts';

describe('arrivals of a phase', () => {
  const cases: [object, number][] = [
    [{ duration: 2, arrivalRate: 500, rampTo: 500 }, 1000],
    [{ duration: 3, arrivalRate: 4 }, 12],
    [{ duration: 10, arrivalCount: 7 }, 7],
    [{ pause: 5 }, 0],
    [{ duration: 5, arrivalRate: 0 }, 0],
    [{ duration: 1, arrivalRate: 1, rampTo: 4 }, 3],
    // As Artillery does, rounded in each second: 0, 1.67, 3.33, 5.
    [{ duration: 4, rampTo: 5 }, 10],
    // 1, 1.5, 2 become 1, 2, 2.
    [{ duration: 3, arrivalRate: 1, rampTo: 2 }, 5],
  ];
  for (const [phase, arrivals] of cases) {
    it(`${JSON.stringify(phase)} brings ${arrivals}`, () => assert.equal(arrivalsOf(phase), arrivals));
  }
});

describe('phases as people write them', () => {
  it('become seconds', () => {
    const phases = phasesSchema.parse([{ duration: '1m', arrivalRate: '2' }, { pause: '500ms' }, { pause: 2 }]);
    assert.equal(totalSeconds(phases as never), 62.5);
    assert.equal(totalArrivals(phases as never), 120);
  });

  it('are refused without arrivals', () => {
    // Artillery leaves it out, so that those after it are no longer where they stand in the script.
    for (const phase of [{ arrivalRate: 0 }, { arrivalCount: 0 }, { arrivalRate: 0, rampTo: 0 }]) {
      const { error } = phasesSchema.safeParse([
        { duration: 2, arrivalRate: 5 },
        { duration: 2, ...phase },
      ]);
      assert.match(error?.issues[0]?.message ?? '', /leaves out a phase without arrivals/);
      assert.deepEqual(error?.issues[0]?.path, [1]);
    }
    assert.match(phasesSchema.safeParse([{ pause: 1 }]).error?.issues[0]?.message ?? '', /no phase creates/);
  });
});

describe('the same load at another rate', () => {
  const at = (RATE: number, given: Phase[]) => resizedPhases(given, { RATE, STOCK_ENGINE: 'socketio' }, 1);
  const phases = [
    { name: 'ramp', duration: 2, arrivalRate: 500, rampTo: 500, maxVusers: 9 },
    { pause: 5 },
    { duration: 3, arrivalRate: 500, rampTo: 500 },
  ];

  for (const rate of [50, 97, 100, 250, 500, 750, 1000]) {
    it(`keeps every phase's arrivals, in whole seconds, at ${rate}/s`, () => {
      const changed = at(rate, phases);
      assert.deepEqual(changed.map(arrivalsOf), phases.map(arrivalsOf));
      for (const { arrivalRate = 0, rampTo = 0, duration = 0, pause } of changed) {
        if (pause !== undefined) continue;
        assert.ok(Number.isInteger(duration) && duration >= 2);
        assert.ok((arrivalRate + rampTo) / 2 <= rate && rampTo - arrivalRate <= 1, `${arrivalRate} to ${rampTo}`);
      }
    });
  }

  it('keeps names, pauses and limits, and any number of arrivals', () => {
    const [first, second] = at(250, phases);
    assert.deepEqual(first, { name: 'ramp', duration: 4, arrivalRate: 250, rampTo: 250, maxVusers: 9 });
    assert.equal(second, phases[1]);
    assert.deepEqual(at(100, [{ duration: 1, arrivalCount: 9973 }]).map(arrivalsOf), [9973]);
  });

  it('is computed over the time of arrivals only', () => {
    assert.equal(configuredRatePerSec(phases, ONE_CONNECTION), 500);
    assert.equal(configuredRatePerSec([{ pause: 1 }], ONE_CONNECTION), null);
  });

  it('is that of the connections, where a virtual user holds many', () => {
    const perUser = { count: 1000, ratePerSec: 250 };
    assert.equal(configuredRatePerSec([{ duration: 1, arrivalCount: 1 }], perUser), 250);
    // Four begin within 0.75 s, and each takes 4 s.
    assert.equal(configuredRatePerSec([{ duration: 1, arrivalCount: 4 }], perUser), 4000 / 4.75);
  });
});

it('a phase without any length is told so, and other mistakes what a length looks like', () => {
  const messageOf = (phase: object) =>
    phasesSchema.safeParse([{ duration: 2, arrivalRate: 5 }, phase]).error?.issues[0]?.message;
  for (const zero of [0, '0', '0m']) assert.equal(messageOf({ pause: zero }), 'must be longer than 0');
  for (const wrong of ['two minutes', -1, null]) {
    assert.equal(messageOf({ pause: wrong }), 'expected seconds, or a duration such as "2m"');
  }
  assert.equal(messageOf({ pause: '1m' }), undefined);
});
