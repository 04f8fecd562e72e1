/** CPU of known costs before a known background, and how sure the figures are. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuFigures, impossibleCpu } from '../../../plugin/result/cpu/cpu.ts';
import { machineFigures } from '../../../plugin/result/machine.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { CpuWindow } from '../../../plugin/run/measurements/windows.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { measurements } from '../../helpers/measurements.ts';

const window = (seconds: number, units: number, workerUs: number): CpuWindow => ({
  seconds,
  secondsAtMost: seconds,
  units,
  cpuUs: { worker: workerUs },
});

/** Ten parts of a second each: a tenth of a core. */
const STEADY = Array.from({ length: 10 }, () => window(1, 0, 100_000));
/** The same on average, now nothing, now a fifth. */
const RESTLESS = STEADY.map((_, index) => window(1, 0, index % 2 === 0 ? 0 : 200_000));

/** Five parts of a second each, with 2,000 messages: beside the tenth of a core, 25 µs for each message. */
const BROADCASTS = Array.from({ length: 5 }, () => window(1, 2000, 150_000));

function workerOf(cpu: Partial<Measurements['cpu']>) {
  const { worker } = cpuFigures(
    measurements({ cpu: { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [], ...cpu } }),
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
  const cpu = { ramps: [window(4, 1000, 500_000)], idle: STEADY, broadcasts: BROADCASTS };
  const { intervals, ...figures } = workerOf(cpu);

  it('is without the background, in a ramp half of it: so many wait on average', () => {
    assert.deepEqual(figures, {
      rampSecondsPerThousandConnects: 0.3,
      idlePercent: 10,
      idleConnectionsPercent: null,
      broadcastMicrosecondsPerMessage: 25,
      clientMicrosecondsPerMessage: null,
    });
  });

  it('is sure to a tick of the kernel where the background is steady', () => {
    near(intervals?.rampSecondsPerThousandConnects, 0.29, 0.31);
    near(intervals?.idlePercent, 9.9, 10.1);
    // 250,000 µs of 10,000 messages: a tick, twice, since the mean of the background is known to a tick as well.
    near(intervals?.broadcastMicrosecondsPerMessage, 25 - Math.SQRT2, 25 + Math.SQRT2);
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
    assert.equal(restless.broadcastMicrosecondsPerMessage, null, '25 µs ± 38');
    assert.equal(restless.idlePercent, 10);
    near(restless.intervals?.idlePercent, 10 - 7.541, 10 + 7.541);
    const oneTick = workerOf({ ramps: [window(4, 1000, 10_000)], idle: STEADY.map(() => window(1, 0, 0)) });
    assert.equal(oneTick.rampSecondsPerThousandConnects, null, 'a tick is no more than nothing');
    const nothing = workerOf({ ramps: [window(4, 1000, 0)], idle: STEADY.map(() => window(1, 0, 0)) });
    assert.deepEqual([nothing.rampSecondsPerThousandConnects, nothing.idlePercent], [null, null]);
  });

  it('has no interval where nobody waited, as nothing is known of the background', () => {
    assert.deepEqual(workerOf({ ramps: [window(4, 250, 500_000)], broadcasts: [window(4, 250, 500_000)] }), {
      rampSecondsPerThousandConnects: 2,
      idlePercent: null,
      idleConnectionsPercent: null,
      broadcastMicrosecondsPerMessage: 2000,
      clientMicrosecondsPerMessage: null,
      intervals: {
        rampSecondsPerThousandConnects: null,
        idlePercent: null,
        idleConnectionsPercent: null,
        broadcastMicrosecondsPerMessage: null,
        clientMicrosecondsPerMessage: null,
      },
    });
  });

  const without = (whole: CpuWindow) => ({ ...whole, cpuUs: {} });
  const lacking = (windows: CpuWindow[] = []) => windows.map((one, index) => (index === 1 ? without(one) : one));
  const all = { ...cpu, ramps: [0, 1, 2].map((before) => window(4, 1000, 2_000_000 + before * 140_000)) };
  for (const [what, windows, known] of [
    ['no window lacks it', {}, ['rampSecondsPerThousandConnects', 'idlePercent', 'broadcastMicrosecondsPerMessage']],
    ['one of the ramps lacks it', { ramps: lacking(all.ramps) }, ['idlePercent', 'broadcastMicrosecondsPerMessage']],
    ['a part of the hold does', { idle: lacking(STEADY) }, []],
    [
      'a part of the broadcasts does',
      { broadcasts: lacking(BROADCASTS) },
      ['rampSecondsPerThousandConnects', 'idlePercent'],
    ],
    ['it is not read any more at the end', { broadcasts: BROADCASTS.map(without) }, []],
  ] as const) {
    it(`is known of a layer as far as its windows are: ${what}`, () => {
      const { intervals: _, ...figures } = workerOf({ ...all, ...windows });
      const found = Object.entries(figures).flatMap(([name, value]) => (value === null ? [] : [name]));
      assert.deepEqual(found, known);
    });
  }

  it('is unknown where nothing happened', () => {
    const { intervals: _, ...unknown } = workerOf({ ramps: [window(4, 0, 1)], broadcasts: [window(4, 0, 1)] });
    assert.deepEqual(Object.values(unknown), [null, null, null, null, null]);
  });
});

describe('CPU that idle connections add', () => {
  const parts = (us: number) => Array.from({ length: 10 }, () => window(0.5, 0, us));

  it('is what the hold takes above the time before the first connection, with the noise of both', () => {
    // 10 % less 4 %; a tick in 10 s, and one in 5 s.
    const { idleConnectionsPercent, intervals } = workerOf({ unloaded: parts(20_000), idle: STEADY });
    assert.equal(idleConnectionsPercent?.toFixed(6), '6.000000');
    near(intervals?.idleConnectionsPercent, 6 - Math.hypot(0.1, 0.2), 6 + Math.hypot(0.1, 0.2));
  });

  it('is absent where the noise is as large, or nobody looked before', () => {
    assert.equal(workerOf({ unloaded: parts(20_000), idle: RESTLESS }).idleConnectionsPercent, null);
    assert.equal(workerOf({ unloaded: parts(50_000), idle: STEADY }).idleConnectionsPercent, null);
    assert.equal(workerOf({ idle: STEADY }).idleConnectionsPercent, null);
  });
});

describe('CPU per message, with its interval', () => {
  /** Of a thousand messages each. */
  const parts = (...us: number[]) => us.map((workerUs) => window(1, 1000, workerUs));
  const messageOf = (cpu: Partial<Measurements['cpu']>) => {
    const { broadcastMicrosecondsPerMessage: value, intervals } = workerOf(cpu);
    return { value, interval: intervals?.broadcastMicrosecondsPerMessage };
  };

  it('is as unsure as the parts are different', () => {
    const { value, interval } = messageOf({ broadcasts: parts(80_000, 90_000, 100_000, 110_000, 120_000) });
    assert.equal(value, 100);
    // Student's t of four degrees, 2.776, times the deviation, 15.81 µs, over the root of five; and a tick of 10 ms.
    near(interval, 100 - 19.734, 100 + 19.734);
  });

  it('has the background taken off each part for its own length', () => {
    // The last one has the drain: nine seconds of a tenth of a core.
    const broadcasts = [...BROADCASTS, window(10, 2000, 1_050_000)];
    const { value, interval } = messageOf({ idle: STEADY, broadcasts });
    assert.equal(value, 25);
    assert.ok(interval && interval.high95 - 25 < 2, `${interval?.high95}`);
  });

  it('takes no copy for missing that arrives in the next part, with its CPU', () => {
    const late = [800, 1000, 1200, 1000, 1000].map((units) => window(1, units, units * 100));
    const { value, interval } = messageOf({ broadcasts: late });
    assert.equal(value, 100);
    near(interval, 98, 102);
  });

  it('includes that the mean of the background is not known exactly', () => {
    const { interval } = messageOf({ idle: RESTLESS, broadcasts: parts(...Array<number>(5).fill(1_000_000)) });
    // t(9) = 2.262 times the deviation, 105.4 ms, over the root of ten, for five seconds: 377 ms; and ticks.
    near(interval, 900 - 75.4583, 900 + 75.4583);
  });

  it('has none with four broadcasts, and none with five parts of which one got nothing', () => {
    const four = messageOf({ broadcasts: parts(80_000, 100_000, 100_000, 120_000) });
    assert.deepEqual(four, { value: 100, interval: null });
    const empty = [window(1, 0, 0), ...parts(80_000, 100_000, 100_000, 120_000)];
    assert.deepEqual(messageOf({ broadcasts: empty }), { value: 100, interval: null });
  });

  it('is absent where the parts differ more than it is large, or, in too few parts, the background alone does', () => {
    const absent = { value: null, interval: null };
    assert.deepEqual(messageOf({ broadcasts: parts(0, 0, 10_000, 0, 30_000) }), absent);
    assert.deepEqual(messageOf({ idle: RESTLESS, broadcasts: parts(120_000, 120_000) }), absent);
    assert.deepEqual(messageOf({ idle: STEADY, broadcasts: parts(90_000, 90_000) }), absent, 'less than nothing');
  });
});

describe('CPU while idle', () => {
  it('is as unsure as the parts of the hold are different, and at least by a tick in all of it', () => {
    const idleOf = (...us: number[]) => workerOf({ idle: us.map((workerUs) => window(2, 0, workerUs)) });
    const { idlePercent, intervals } = idleOf(180_000, 200_000, 220_000, 200_000);
    assert.equal(idlePercent, 10);
    // t(3) = 3.182, deviation 0.8165 %, over the root of four; a tick in eight seconds is 0.125 %.
    near(intervals?.idlePercent, 10 - 1.305, 10 + 1.305);
    near(idleOf(200_000, 200_000).intervals?.idlePercent, 10 - 0.25, 10 + 0.25);
  });

  it('has no interval in one piece, and is absent where the parts differ more than it is large', () => {
    const { idlePercent, intervals } = workerOf({ idle: [window(1, 0, 100_000)] });
    assert.deepEqual([idlePercent, intervals?.idlePercent], [10, null]);
    const bursts = workerOf({ idle: [0, 0, 0, 300_000].map((us) => window(1, 0, us)) });
    assert.deepEqual([bursts.idlePercent, bursts.intervals?.idlePercent], [null, null]);
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
    const cpu = { messages: parts(100_000, 100_000, 100_000), broadcasts: BROADCASTS };
    assert.equal(workerOf(cpu).broadcastMicrosecondsPerMessage, 25);
  });
});

it("there is no CPU of the whole machine where the workers run on another: it would be the generator's", () => {
  const ramps = [{ seconds: 4, secondsAtMost: 4, cpuUs: { worker: 500_000, system: 900_000 }, units: 1000 }];
  const layers = (sharedHost: boolean) =>
    Object.keys(
      cpuFigures(
        measurements({ cpu: { unloaded: [], ramps, idle: [], messages: [], broadcasts: [] }, sharedHost }),
        LAYERS,
      ),
    ).toSorted();
  assert.deepEqual(layers(false), ['worker']);
  assert.deepEqual(layers(true), ['system', 'worker']);
});

it('the machine is as idle as in the ramp that left least, not as in all of them', () => {
  const ramps = [1_200_000, 1_960_000, 1_000_000].map((system) => ({
    seconds: 1,
    secondsAtMost: 1,
    cpuUs: { system },
    units: 100,
  }));
  const cpu = { unloaded: [], ramps, idle: [], messages: [], broadcasts: [] };
  const { cpuIdlePercent } = machineFigures(measurements({ cpu }), { swapped: () => undefined }, 2);
  assert.equal(Math.round((cpuIdlePercent.ramp ?? 0) * 10) / 10, 2);
});

describe('CPU that cannot be', () => {
  const resources = [{ machine: { kernel: 'k', cores: 2 } }, { machine: { kernel: 'k', cores: 2 } }] as never;
  const of = (workerUs: number) =>
    measurements({
      ...{ sharedHost: false, workerResources: resources },
      cpu: { unloaded: [], ramps: [window(10, 1000, workerUs)], idle: [], messages: [], broadcasts: [] },
    });

  it('is left out, with the reason: two workers of one machine have its cores once', () => {
    const wrong = of(1_193e6);
    assert.deepEqual(cpuFigures(wrong, LAYERS), {});
    assert.deepEqual(impossibleCpu(wrong), [{ layer: 'worker', cpuSeconds: 1193, seconds: 10, cores: 2 }]);
    assert.equal(impossibleCpu(of(40e6)).length, 1);
  });

  it('is not what was used while the first reading waited for a CPU', () => {
    const late = of(40e6);
    for (const ramp of late.cpu.ramps) ramp.secondsAtMost = 20;
    assert.deepEqual(impossibleCpu(late), []);
  });

  it('is not what ended children of the generator had used before', () => {
    const reaped = of(0);
    for (const ramp of reaped.cpu.ramps) ramp.cpuUs = { artillery: 1_193e6 };
    assert.deepEqual(impossibleCpu(reaped), []);
  });

  it('is not what takes all cores, or of machines that nobody knows', () => {
    assert.equal(cpuFigures(of(20e6), LAYERS).worker?.rampSecondsPerThousandConnects, 20);
    assert.deepEqual(impossibleCpu({ ...of(1_193e6), workerResources: [] } as never), []);
  });
});
