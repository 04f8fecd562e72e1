/** A scenario at any level: the arrivals that Artillery makes of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scaleOf } from '../../../plugin/cli/search/scale.ts';
import { exactRamp } from '../../../plugin/script/load/load-profile.ts';
import { arrivalsOf, type Phase } from '../../../plugin/script/load/phases.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import type { Varied } from '../../../protocol/documents/search.ts';
import { quickScript } from '../../helpers/run.ts';

/** As Artillery's workers do, of which each has its share of the phase. */
function arrivalsOfWorkers({ duration = 0, arrivalRate = 0, rampTo = 0 }: Phase, workers: number): number[] {
  return Array.from({ length: duration }, (_, second) => {
    const share = (((rampTo - arrivalRate) / (duration - 1)) * second + arrivalRate) / workers;
    const bumped = Array.from({ length: workers }, (_, index) => Math.round((share % 1) * workers) >= index + 1);
    return bumped.reduce((sum, one) => sum + Math.floor(share) + Number(one), 0);
  });
}

const RAMP = { duration: 4, arrivalRate: 10, rampTo: 10 };

function scale(vary: Varied, config: object = {}, options: object = {}) {
  const script = quickScript({ phases: [RAMP, { pause: 2 }, { duration: 4, arrivalRate: 30 }], ...config }, options);
  return scaleOf(readSettings(script, STEPS, {}), vary);
}

function phasesAt(level: number, { overrides }: ReturnType<typeof scale>): Phase[] {
  return (overrides(level).config as { phases: Phase[] }).phases;
}

it('makes any number of arrivals exactly, with one, two or seven workers', () => {
  for (const rate of [1, 7, 40, 500]) {
    for (const arrivals of [2, 3, 10, 59, 60, 61, 499, 500, 501, 999, 4321]) {
      const ramp = exactRamp(arrivals, rate);
      assert.equal(arrivalsOf(ramp), arrivals);
      for (const workers of [1, 2, 7]) {
        const perSecond = arrivalsOfWorkers(ramp, workers);
        assert.equal(
          perSecond.reduce((sum, one) => sum + one, 0),
          arrivals,
          `${arrivals} at ${rate}/s, ${workers}`,
        );
        assert.ok(Math.max(...perSecond) <= Math.max(rate, Math.ceil(arrivals / 2)));
        assert.ok(Math.max(...perSecond) - Math.min(...perSecond) <= 1);
      }
    }
  }
});

describe('connections', () => {
  it('keep the rates and the shares of the phases, and the pauses between them', () => {
    const scaled = scale('connections');
    assert.equal(scaled.own, 160);
    for (const level of [4, 5, 61, 160, 12_345]) {
      assert.equal(scaled.snap(level), level);
      const phases = phasesAt(level, scaled);
      assert.equal(
        phases.reduce((sum, phase) => sum + arrivalsOf(phase), 0),
        level,
      );
      assert.deepEqual(phases[1], { pause: 2 });
    }
    assert.equal(scaled.snap(1), 4);
    assert.equal(scaled.snap(60.9), 60);
    assert.deepEqual(phasesAt(320, scaled), [
      { duration: 8, arrivalRate: 10, rampTo: 10 },
      { pause: 2 },
      { duration: 8, arrivalRate: 30, rampTo: 30 },
    ]);
  });

  it('are refused where virtual users leave', () => {
    const scenarios = [{ engine: 'socketio-capacity', flow: [{ think: 1 }] }];
    assert.throws(() => scaleOf(readSettings({ ...quickScript(), scenarios }, STEPS, {}), 'connections'), {
      code: 'CONFIG_INVALID',
    });
  });
});

it('a rate keeps all arrivals, and no ramp is faster than the level', () => {
  const scaled = scale('rate');
  assert.equal(scaled.own, 30);
  for (const asked of [3, 10, 17, 39.9, 55, 1e9]) {
    const level = scaled.snap(asked);
    assert.equal(scaled.snap(level), level);
    const phases = phasesAt(level, scaled).filter(({ pause }) => pause === undefined);
    assert.deepEqual(phases.map(arrivalsOf), [40, 120]);
    assert.equal(Math.max(...phases.map((phase) => arrivalsOf(phase) / (phase.duration ?? 0))), level);
    assert.ok(level <= asked);
  }
});

it('broadcasts per second keep the length of the window, and the least number', () => {
  const broadcasts = { count: 20, interval: 1 };
  const scaled = scale('broadcastsPerSec', {}, { broadcasts });
  assert.equal(scaled.own, 1);
  const options = (level: number) => (scaled.overrides(level).config as { plugins: Record<string, object> }).plugins;
  assert.deepEqual(options(10), { 'socketio-capacity': { broadcasts: { interval: 0.1, count: 200 } } });
  assert.deepEqual(options(0.5), { 'socketio-capacity': { broadcasts: { interval: 2, count: 20 } } });
  assert.throws(() => scale('broadcastsPerSec', {}, { broadcasts: { count: 0 } }), { code: 'CONFIG_INVALID' });
});

it('bytes are those of each broadcast', () => {
  const scaled = scale('bytes', {}, { broadcasts: { bytes: 300 } });
  assert.equal(scaled.own, 300);
  assert.deepEqual(scaled.overrides(600), {
    config: { plugins: { 'socketio-capacity': { broadcasts: { bytes: 600 } } } },
  });
});

describe('the clients of the run', () => {
  const taking = (options: object) => {
    const scaled = scale('connections', { phases: [RAMP] }, { broadcasts: { count: 0 }, ...options });
    return phasesAt(scaled.snap(135), scaled).reduce((sum, phase) => sum + arrivalsOf(phase), 0);
  };
  const control = { urls: ['http://127.0.0.1:9'], token: 'token-of-this-test' };
  const publish = { emit: ['say', '$id'], users: 4 };

  it('are among the connections that are searched for', () => {
    assert.equal(taking({}), 135);
    assert.equal(taking({ control }), 133, 'probe and reference receiver');
    assert.equal(taking({ delivery: { event: 'said', id: '$.0', publish } }), 131);
    assert.equal(taking({ delivery: { event: 'said', id: '$.0', publish }, control }), 130);
  });
});

it('windows are long enough to show a queue that grows, and no longer', () => {
  const options = (vary: Varied, given: object, flow?: object[]) => {
    const script = quickScript({ phases: [RAMP] }, given, {}, flow);
    const { overrides, own } = scaleOf(readSettings(script, STEPS, {}), vary);
    const { plugins } = overrides(own).config as { plugins?: Record<string, object> };
    return plugins?.['socketio-capacity'];
  };
  assert.deepEqual(options('connections', { broadcasts: { count: 5, interval: 0.5 } }), { broadcasts: { count: 20 } });
  assert.deepEqual(options('connections', { broadcasts: { count: 50, interval: 0.5 } }), {});
  assert.deepEqual(options('connections', { broadcasts: { count: 0 } }), {});
  const publish = { emit: ['say', '$id'], every: 0.1, count: 10 };
  const delivery = { event: 'said', id: '$.0' };
  assert.deepEqual(options('rate', { delivery: { ...delivery, publish } }), { delivery: { publish: { count: 100 } } });
  assert.deepEqual(options('rate', { delivery, broadcasts: { count: 1, interval: 1 } }), { broadcasts: { count: 10 } });
  assert.deepEqual(options('broadcastsPerSec', { broadcasts: { count: 5, interval: 0.1 } }), {
    broadcasts: { interval: 0.1, count: 100 },
  });
  const every = { seconds: 1, emit: ['tick'], acknowledge: true };
  const flow = [{ connect: {} }, { every }, { hold: true }];
  assert.deepEqual(options('connections', { broadcasts: { count: 0 }, hold: 3 }, flow), { hold: 10 });
  assert.deepEqual(options('connections', { broadcasts: { count: 0 }, hold: 30 }, flow), { hold: 30 });
});
