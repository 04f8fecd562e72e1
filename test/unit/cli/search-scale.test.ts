/** Tests the scaling of a scenario to a level, by the arrivals that Artillery makes of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scenarioScale } from '../../../plugin/cli/search/scale.ts';
import { arrivalsOf, exactRamp, type Phase, totalArrivals } from '../../../plugin/script/load/phases.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import type { SearchedQuantity } from '../../../protocol/documents/search-schema.ts';
import { quickScript } from '../../helpers/run.ts';

/** Returns the arrivals of Artillery's workers. Each gets its share of the phase. */
function arrivalsOfWorkers({ duration = 0, arrivalRate = 0, rampTo = 0 }: Phase, workers: number): number[] {
  return Array.from({ length: duration }, (_, second) => {
    const share = (((rampTo - arrivalRate) / (duration - 1)) * second + arrivalRate) / workers;
    const bumped = Array.from({ length: workers }, (_, index) => Math.round((share % 1) * workers) >= index + 1);
    return bumped.reduce((sum, one) => sum + Math.floor(share) + Number(one), 0);
  });
}

const RAMP = { duration: 4, arrivalRate: 10, rampTo: 10 };
const PHASES = [RAMP, { pause: 2 }, { duration: 4, arrivalRate: 30 }];
const NONE = { count: 0 };

/** @param options options of the plugin */
function scale(vary: SearchedQuantity, options: object = {}, phases: Phase[] = PHASES, flow?: object[]) {
  const script = quickScript({ phases }, options, {}, flow);
  const { own, snap, overrides } = scenarioScale(readSettings(script, STEP_KINDS, {}), vary);
  const configAt = (level: number) => overrides(level).config as { phases: Phase[]; plugins?: Record<string, object> };
  return {
    ...{ own, snap },
    phasesAt: (level: number) => configAt(level).phases,
    optionsAt: (level = own) => configAt(level).plugins?.['socketio-capacity'],
  };
}

it('scaling a scenario makes exactly the requested number of arrivals with 1, 2 or 7 Artillery workers', () => {
  for (const rate of [1, 7, 40, 500]) {
    for (const arrivals of [2, 3, 10, 59, 60, 61, 499, 500, 501, 999, 4321]) {
      const ramp = exactRamp(arrivals, rate);
      assert.equal(arrivalsOf(ramp), arrivals);
      for (const workers of [1, 2, 7]) {
        const perSecond = arrivalsOfWorkers(ramp, workers);
        const sum = perSecond.reduce((all, one) => all + one, 0);
        assert.equal(sum, arrivals, `${arrivals} at ${rate}/s, ${workers}`);
        assert.ok(Math.max(...perSecond) <= Math.max(rate, Math.ceil(arrivals / 2)));
        assert.ok(Math.max(...perSecond) - Math.min(...perSecond) <= 1);
      }
    }
  }
});

describe('connections', () => {
  it('varying the number of connections keeps rates, shares and pauses of the phases', () => {
    const { own, snap, phasesAt } = scale('connections');
    assert.equal(own, 160);
    for (const level of [4, 5, 61, 160, 12_345]) {
      assert.equal(snap(level), level);
      assert.equal(totalArrivals(phasesAt(level)), level);
    }
    assert.deepEqual([snap(1), snap(60.9)], [4, 60]);
    const [ramp, second] = [10, 30].map((rate) => ({ duration: 8, arrivalRate: rate, rampTo: rate }));
    assert.deepEqual(phasesAt(320), [ramp, { pause: 2 }, second]);
  });

  it('refuses to vary connections if virtual users leave', () => {
    assert.throws(() => scale('connections', {}, PHASES, [{ think: 1 }]), { code: 'CONFIG_INVALID' });
  });

  const control = { urls: ['http://127.0.0.1:9'], token: 'token-of-this-test' };
  const delivery = { event: 'said', id: '$.0', publish: { emit: ['say', '$id'], users: 4 } };
  for (const [options, arrivals] of [
    [{}, 135],
    // The number includes the probe and the reference receiver.
    [{ control }, 133],
    [{ delivery }, 131],
    [{ delivery, control }, 130],
  ] as const) {
    it(`a search includes the run’s own clients in the number of connections: options ${Object.keys(options)}`, () => {
      const { snap, phasesAt } = scale('connections', { broadcasts: NONE, ...options }, [RAMP]);
      assert.equal(totalArrivals(phasesAt(snap(135))), arrivals);
    });
  }
});

it('varying the rate keeps all arrivals, and no ramp is faster than the requested rate', () => {
  const { own, snap, phasesAt } = scale('rate');
  assert.equal(own, 30);
  for (const asked of [3, 10, 17, 39.9, 55, 1e9]) {
    const level = snap(asked);
    assert.equal(snap(level), level);
    const phases = phasesAt(level).filter(({ pause }) => pause === undefined);
    assert.deepEqual(phases.map(arrivalsOf), [40, 120]);
    assert.equal(Math.max(...phases.map((phase) => arrivalsOf(phase) / (phase.duration ?? 0))), level);
    assert.ok(level <= asked);
  }
});

it('varying broadcasts per second keeps the seconds of broadcasting, and at least the configured number', () => {
  const { own, optionsAt } = scale('broadcastsPerSec', { broadcasts: { count: 20, interval: 1 } });
  assert.equal(own, 1);
  assert.deepEqual(optionsAt(10), { broadcasts: { interval: 0.1, count: 200 } });
  assert.deepEqual(optionsAt(0.5), { broadcasts: { interval: 2, count: 20 } });
  assert.throws(() => scale('broadcastsPerSec', { broadcasts: NONE }), { code: 'CONFIG_INVALID' });
});

it('varying the bytes sets the size of each broadcast', () => {
  const { own, optionsAt } = scale('bytes', { broadcasts: { bytes: 300 } });
  assert.deepEqual([own, optionsAt(600)], [300, { broadcasts: { bytes: 600 } }]);
});

describe('measured time', () => {
  const publish = { emit: ['say', '$id'], every: 0.1, count: 10 };
  const delivery = { event: 'said', id: '$.0' };
  const every = [{ connect: {} }, { every: { seconds: 1, emit: ['tick'], acknowledge: true } }, { hold: true }];
  const cases: [vary: SearchedQuantity, given: object, changed: object, flow?: object[]][] = [
    ['connections', { broadcasts: { count: 5, interval: 0.5 } }, { broadcasts: { count: 20 } }],
    ['connections', { broadcasts: { count: 50, interval: 0.5 } }, {}],
    ['connections', { broadcasts: { count: 3, interval: 5 } }, { broadcasts: { count: 8 } }],
    ['broadcastsPerSec', { broadcasts: { count: 2, interval: 5 } }, { broadcasts: { interval: 5, count: 8 } }],
    ['connections', { broadcasts: NONE }, {}],
    ['rate', { delivery: { ...delivery, publish } }, { delivery: { publish: { count: 100 } } }],
    ['rate', { delivery, broadcasts: { count: 1, interval: 1 } }, { broadcasts: { count: 10 } }],
    ['broadcastsPerSec', { broadcasts: { count: 5, interval: 0.1 } }, { broadcasts: { interval: 0.1, count: 100 } }],
    ['connections', { broadcasts: NONE, hold: 3 }, { hold: 10 }, every],
    ['connections', { broadcasts: NONE, hold: 30 }, { hold: 30 }, every],
  ];
  for (const [vary, given, changed, flow] of cases) {
    it(`a search measures long enough to see a growing queue: ${vary} with ${JSON.stringify(given)}`, () => {
      assert.deepEqual(scale(vary, given, [RAMP], flow).optionsAt(), changed);
    });
  }
});
