/** CPU of known costs before a known background, and how sure the figures are. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuFigures } from '../../../plugin/result/cpu.ts';
import { machineFigures } from '../../../plugin/result/machine.ts';
import type { CpuWindow, Measurements } from '../../../plugin/run/measurements.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { measurements } from '../../helpers/measurements.ts';

const window = (seconds: number, units: number, workerUs: number): CpuWindow => ({
  seconds,
  units,
  cpuUs: { worker: workerUs },
});

/** Ten parts of a second each: a tenth of a core. */
const STEADY = Array.from({ length: 10 }, () => window(1, 0, 100_000));
/** The same on average, now nothing, now a fifth. */
const RESTLESS = STEADY.map((_, index) => window(1, 0, index % 2 === 0 ? 0 : 200_000));

function workerOf(cpu: Partial<Measurements['cpu']>) {
  const { worker } = cpuFigures(
    measurements({ cpu: { ramps: [], idle: [], messages: [], broadcast: undefined, ...cpu } }),
    LAYERS,
  );
  assert.ok(worker);
  return worker;
}

function near(actual: { low95: number; high95: number } | null | undefined, low95: number, high95: number): void {
  assert.ok(actual && Math.abs(actual.low95 - low95) < 0.001, `${actual?.low95} is not ${low95}`);
  assert.ok(Math.abs(actual.high95 - high95) < 0.001, `${actual.high95} is not ${high95}`);
}

describe('CPU per connect, per message and of those who wait', () => {
  const cpu = { ramps: [window(4, 1000, 500_000)], idle: STEADY, broadcast: window(5, 10_000, 750_000) };
  const { intervals, ...figures } = workerOf(cpu);

  it('is without the background, in a ramp half of it: so many wait on average', () => {
    assert.deepEqual(figures, {
      rampSecondsPerThousandConnects: 0.3,
      idlePercent: 10,
      broadcastMicrosecondsPerMessage: 25,
      clientMicrosecondsPerMessage: null,
    });
  });

  it('is sure to a tick of the kernel where the background is steady', () => {
    near(intervals?.rampSecondsPerThousandConnects, 0.29, 0.31);
    near(intervals?.idlePercent, 9.9, 10.1);
    assert.equal(intervals?.broadcastMicrosecondsPerMessage, null, 'one window shows no spread');
  });

  it('takes from later ramps what the connections of earlier ones cost', () => {
    // 1,000 of 2,000 connections: 500 wait in the first ramp, 1,500 in the second.
    const ramps = [window(4, 1000, 400_000), window(4, 1000, 600_000)];
    assert.equal(workerOf({ ramps, idle: STEADY }).rampSecondsPerThousandConnects, 0.3);
  });

  it('is as unsure as the ramps are different', () => {
    const ramps = [300_000, 400_000, 500_000, 600_000].map((us) => window(4, 1000, us));
    const ramp = workerOf({ ramps });
    assert.equal(ramp.rampSecondsPerThousandConnects, 0.45);
    // Student's t of three degrees, 3.182, times the deviation, 0.1291, over the root of four.
    near(ramp.intervals?.rampSecondsPerThousandConnects, 0.45 - 0.2054, 0.45 + 0.2054);
  });

  it('is absent where the noise is as large', () => {
    const restless = workerOf({ ...cpu, idle: RESTLESS });
    assert.equal(restless.broadcastMicrosecondsPerMessage, null, '25 µs ± 65');
    assert.equal(restless.idlePercent, 10);
    near(restless.intervals?.idlePercent, 10 - 7.541, 10 + 7.541);
    const oneTick = workerOf({ ramps: [window(4, 1000, 10_000)], idle: STEADY.map(() => window(1, 0, 0)) });
    assert.equal(oneTick.rampSecondsPerThousandConnects, null, 'a tick is no more than nothing');
    const nothing = workerOf({ ramps: [window(4, 1000, 0)], idle: STEADY.map(() => window(1, 0, 0)) });
    assert.deepEqual([nothing.rampSecondsPerThousandConnects, nothing.idlePercent], [null, null]);
  });

  it('has no interval where nobody waited, as nothing is known of the background', () => {
    assert.deepEqual(workerOf({ ramps: [window(4, 250, 500_000)], broadcast: window(4, 250, 500_000) }), {
      rampSecondsPerThousandConnects: 2,
      idlePercent: null,
      broadcastMicrosecondsPerMessage: 2000,
      clientMicrosecondsPerMessage: null,
      intervals: {
        rampSecondsPerThousandConnects: null,
        idlePercent: null,
        broadcastMicrosecondsPerMessage: null,
        clientMicrosecondsPerMessage: null,
      },
    });
  });

  it('is unknown where nothing happened', () => {
    const { intervals: _, ...unknown } = workerOf({ ramps: [window(4, 0, 1)], broadcast: window(4, 0, 1) });
    assert.deepEqual(Object.values(unknown), [null, null, null, null]);
  });
});

describe('CPU per message of a client', () => {
  const parts = (...us: number[]) => us.map((workerUs) => window(1, 1000, workerUs));

  it('is all CPU of the hold by the messages, with the spread of its parts, and nobody is idle', () => {
    const { idlePercent, clientMicrosecondsPerMessage, intervals } = workerOf({
      messages: parts(90_000, 100_000, 110_000, 100_000),
    });
    assert.deepEqual([idlePercent, clientMicrosecondsPerMessage], [null, 100]);
    // t(3) = 3.182, deviation 8.165 µs.
    near(intervals?.clientMicrosecondsPerMessage, 100 - 13.2306, 100 + 13.2306);
  });

  it('is subtracted from the broadcasts, during which the messages go on', () => {
    const cpu = { messages: parts(100_000, 100_000, 100_000), broadcast: window(5, 10_000, 750_000) };
    assert.equal(workerOf(cpu).broadcastMicrosecondsPerMessage, 25);
  });
});

it("there is no CPU of the whole machine where the workers run on another: it would be the generator's", () => {
  const ramps = [{ seconds: 4, cpuUs: { worker: 500_000, system: 900_000 }, units: 1000 }];
  const layers = (sharedHost: boolean) =>
    Object.keys(
      cpuFigures(measurements({ cpu: { ramps, idle: [], messages: [], broadcast: undefined }, sharedHost }), LAYERS),
    ).toSorted();
  assert.deepEqual(layers(false), ['worker']);
  assert.deepEqual(layers(true), ['system', 'worker']);
});

it('the machine is as idle as in the ramp that left least, not as in all of them', () => {
  const ramps = [1_200_000, 1_960_000, 1_000_000].map((system) => ({ seconds: 1, cpuUs: { system }, units: 100 }));
  const cpu = { ramps, idle: [], messages: [], broadcast: undefined };
  const { cpuIdlePercent } = machineFigures(measurements({ cpu }), { swapped: () => undefined }, 2);
  assert.equal(Math.round((cpuIdlePercent.ramp ?? 0) * 10) / 10, 2);
});
