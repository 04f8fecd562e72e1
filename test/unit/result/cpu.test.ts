import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { machineFigures } from '../../../plugin/result/assemble-machine.ts';
import { cpuFigures } from '../../../plugin/result/cpu/assemble-cpu.ts';
import { impossibleCpu } from '../../../plugin/result/invariants/cpu-invariants.ts';
import type { CpuWindow } from '../../../plugin/run/measurements/measured-windows.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { cpuLines } from '../../../report/answer/cpu-line.ts';
import { parts, ramp, type Windows, window, workerOf } from '../../helpers/cpu-windows.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

/** CPU use of a tenth of a core. */
const STEADY = parts(0, ...Array<number>(10).fill(100_000));
/** CPU use of a tenth of a core on average, alternating between nothing and a fifth. */
const RESTLESS = parts(0, ...STEADY.map((_, index) => (index % 2 === 0 ? 0 : 200_000)));
const NOTHING = parts(0, ...Array<number>(10).fill(0));
/** CPU use of a tenth of a core, plus 25 µs for each message. */
const BROADCASTS = parts(2000, ...Array<number>(5).fill(150_000));

const FIGURES = {
  connect: 'rampSecondsPerThousandConnects',
  idle: 'idlePercent',
  connections: 'idleConnectionsPercent',
  copy: 'broadcastMicrosecondsPerMessage',
  message: 'clientMicrosecondsPerMessage',
} as const;

/** Expected figure and margin of error. Null means that the figure or its interval is unknown. */
type Case = [what: string, cpu: Windows, value: number | null, margin?: number | null];

function check(figure: keyof typeof FIGURES, cases: Case[]): void {
  describe(`CPU by ${figure}`, () => {
    for (const [what, cpu, value, margin] of cases) {
      it(`the worker CPU figure "${figure}" ${what}`, () => {
        const { [FIGURES[figure]]: found, intervals } = workerOf(cpu);
        assert.equal(found === null ? null : Math.round(found * 1e6) / 1e6, value);
        const interval = intervals?.[FIGURES[figure]];
        if (value === null || margin === null) return assert.equal(interval, null);
        if (margin === undefined) return;
        assert.ok(Math.abs((interval?.low95 ?? 0) - (value - margin)) < 0.001, `${interval?.low95}`);
        assert.ok(Math.abs((interval?.high95 ?? 0) - (value + margin)) < 0.001, `${interval?.high95}`);
      });
    }
  });
}

const ALL = { unloaded: NOTHING, ramps: [ramp(125_000)], idle: STEADY, broadcasts: BROADCASTS };

check('connect', [
  ['excludes the background, in a ramp half of it', ALL, 0.3],
  // On average, 1,000 of 2,000 connections were open: 500 in the first ramp, and 1,500 in the second.
  [
    'excludes CPU that earlier ramps caused',
    { ...ALL, ramps: [ramp(100_000), ramp(150_000, 1000)], idle: STEADY.map((one) => ({ ...one, held: 2000 })) },
    0.3,
  ],
  ['excludes CPU used before the first connection', { ...ALL, unloaded: STEADY, ramps: [ramp(175_000)] }, 0.3],
  ['is absent if the ramp used less CPU than the background', { ...ALL, unloaded: STEADY, ramps: [ramp(0)] }, null],
]);

it('CPU by connect has no lower bound if the background CPU is unknown', () => {
  const { rampSecondsPerThousandConnects, intervals } = workerOf({ ramps: [ramp(500_000)] });
  assert.equal(rampSecondsPerThousandConnects, 2);
  assert.deepEqual(intervals?.rampSecondsPerThousandConnects, { low95: 0, high95: 2 });
});

check('idle', [
  ['has an interval of one clock tick if it is steady', ALL, 10, 0.1],
  // The half width for ten parts: Student's t(9) = 2.262 × standard deviation 10.54 % ÷ √10.
  ['has an interval from the spread of its parts', { idle: RESTLESS }, 10, 7.541],
  // Four parts: t(3) = 3.182 × standard deviation 0.8165 % ÷ √4. A tick of the kernel in 8 s would be only 0.125 %.
  ['has an interval from few parts', { idle: [180, 200, 220, 200].map((ms) => window(2, 0, ms * 1000)) }, 10, 1.305],
  [
    'has an interval of one clock tick over all of its parts',
    { idle: [200, 200].map((ms) => window(2, 0, ms * 1000)) },
    10,
    0.25,
  ],
  ['has no interval if it is a single part', { idle: parts(0, 100_000) }, 10, null],
  ['is absent if its spread exceeds its value', { idle: parts(0, 0, 0, 0, 300_000) }, null],
  ['is absent if no CPU was used', { ramps: [ramp(0)], idle: NOTHING }, null],
  ['is absent if no connection was idle', { ramps: [ramp(125_000)] }, null],
]);

const before = (us: number) => Array.from({ length: 10 }, () => window(0.5, 0, us));
check('connections', [
  // The figure is 10 % minus 4 %. The margin combines a tick in 10 s and a tick in 5 s.
  [
    'is the excess over the time before the first connection',
    { unloaded: before(20_000), idle: STEADY },
    6,
    Math.hypot(0.1, 0.2),
  ],
  ['is absent if the noise is as large as the figure', { unloaded: before(20_000), idle: RESTLESS }, null],
  [
    'is absent if it does not exceed the time before the first connection',
    { unloaded: before(50_000), idle: STEADY },
    null,
  ],
  ['is absent if the time before the first connection was not measured', { idle: STEADY }, null],
]);

const FOUR = parts(1000, 8e4, 1e5, 1e5, 12e4);
const LATE = [800, 1000, 1200, 1000, 1000].map((units) => window(1, units, units * 100));
check('copy', [
  // The messages used 250,000 µs, for 10,000 messages. The margin is a tick for the messages and a tick for the mean of
  // the background.
  ['excludes the background', ALL, 25, Math.SQRT2],
  ['excludes the messages of clients, which go on', { messages: parts(1000, 1e5, 1e5), broadcasts: BROADCASTS }, 25],
  // The margin is Student's t of four degrees, 2.776, times the deviation of 15.81 µs, divided by the root of five, and
  // a tick of 10 ms.
  ['has an interval from the spread of its parts', { broadcasts: parts(1000, 8e4, 9e4, 1e5, 11e4, 12e4) }, 100, 19.734],
  // The margin is t(9) = 2.262 times the deviation of 105.4 ms, divided by the root of ten, for five seconds: 377 ms,
  // and ticks.
  [
    'has an interval that includes the noise of the background',
    { idle: RESTLESS, broadcasts: parts(1000, 1e6, 1e6, 1e6, 1e6, 1e6) },
    900,
    75.4583,
  ],
  ['does not count a copy as missing if it arrives in the next part', { broadcasts: LATE }, 100, 2],
  ['has no interval for four broadcasts', { broadcasts: FOUR }, 100, null],
  ['has no interval for five broadcasts, one without copies', { broadcasts: [window(1, 0, 0), ...FOUR] }, 100, null],
  ['is absent if the noise is as large as the figure', { idle: RESTLESS, broadcasts: BROADCASTS }, null],
  ['is absent if the spread of its parts is larger', { broadcasts: parts(1000, 0, 0, 1e4, 0, 3e4) }, null],
  ['is absent if the background varies more', { idle: RESTLESS, broadcasts: parts(1000, 12e4, 12e4) }, null],
  ['is absent if it is negative', { idle: STEADY, broadcasts: parts(1000, 9e4, 9e4) }, null],
  ['is absent without copies', { broadcasts: [window(4, 0, 1)] }, null],
]);

const TIMED = parts(1000, ...Array<number>(5).fill(150_000));
const ONLY_TIMER = Array<number>(5).fill(100_000);
check('message', [
  // The figure is all CPU of the hold. t(3) = 3.182, and the deviation is 8.165 µs.
  ['has an interval from the spread of its parts', { messages: parts(1000, 9e4, 1e5, 11e4, 1e5) }, 100, 13.2306],
  ['is absent if clients send no messages', ALL, null],
  // A timer takes 100 of 150 ms each second. All parts are equal, so the interval has no spread.
  ['excludes a timer that runs while no messages are sent', { messages: TIMED, idle: STEADY }, 50],
  ['excludes a timer that runs before the first connection', { messages: TIMED, unloaded: STEADY }, 50],
  ['is absent if a timer of the server does the work', { messages: parts(1000, ...ONLY_TIMER), idle: STEADY }, null],
  ['is absent if it is within the noise of the timer', { messages: TIMED, idle: RESTLESS }, null],
]);

check('idle', [
  ['equals the figure without messages', { messages: parts(1000, ...ONLY_TIMER), idle: STEADY }, 10, 0.1],
]);

it('subtracts the background CPU from each part in proportion to its length', () => {
  // The last part includes the drain: nine seconds with a tenth of a core.
  const broadcasts = [...BROADCASTS, window(10, 2000, 1_050_000)];
  const { broadcastMicrosecondsPerMessage, intervals } = workerOf({ idle: STEADY, broadcasts });
  assert.equal(broadcastMicrosecondsPerMessage, 25);
  assert.ok((intervals?.broadcastMicrosecondsPerMessage?.high95 ?? 99) - 25 < 2);
});

const without = (whole: CpuWindow) => ({ ...whole, cpuUs: {} });
const lacking = (windows: CpuWindow[]) => windows.map((one, index) => (index === 1 ? without(one) : one));
const RAMPS = [500_000, 510_000, 520_000].map((us, index) => ramp(us, 1000 * index));
for (const [what, windows, known] of [
  ['no window lacks the layer', {}, ['connect', 'idle', 'connections', 'copy']],
  [
    'a part of a ramp lacks the layer',
    { ramps: RAMPS.map((one) => ({ ...one, parts: lacking(one.parts) })) },
    ['idle', 'connections', 'copy'],
  ],
  ['a part of the hold lacks the layer', { idle: lacking(STEADY) }, []],
  ['a part of the broadcasts lacks the layer', { broadcasts: lacking(BROADCASTS) }, ['connect', 'idle', 'connections']],
  ['the broadcasts lack the layer', { broadcasts: BROADCASTS.map(without) }, []],
] as const) {
  it(`CPU of a layer is known for ${known.join() || 'nothing'} if ${what}`, () => {
    const worker = workerOf({ ...ALL, ramps: RAMPS, ...windows });
    const found = Object.entries(FIGURES).flatMap(([name, key]) => (worker[key] === null ? [] : [name]));
    assert.deepEqual(found, known);
  });
}

it('CPU of the whole machine is absent if the workers run on another machine', () => {
  const ramps = [{ ...ramp(0), cpuUs: { worker: 500_000, system: 900_000 } }];
  const cpu = { unloaded: [], ramps, idle: [], messages: [], broadcasts: [] };
  const layers = (sharedHost: boolean) => Object.keys(cpuFigures(measurements({ cpu, sharedHost }), LAYERS)).sort();
  assert.deepEqual([layers(false), layers(true)], [['worker'], ['system', 'worker']]);
});

it('the result has the lowest idle CPU of the ramps, and swapping since the start of sampling', () => {
  const ramps = [1_200_000, 1_960_000, 1_000_000].map((us) => ({
    ...ramp(0),
    ...{ seconds: 1, cpuUs: { system: us } },
  }));
  const broadcasts = [{ ...window(1, 0, 0), cpuUs: {} }];
  const cpu = { unloaded: [], ramps, idle: [], messages: [], broadcasts };
  const swapped = () => ({ inBytes: 0, outBytes: 4096 });
  const { cpuIdlePercent, ...figures } = machineFigures(measurements({ cpu }), { swapped }, 2);
  const { ramp: inRamp, ...unknown } = cpuIdlePercent;
  assert.deepEqual([inRamp?.toFixed(6), unknown], ['2.000000', { messages: null, broadcasts: null }]);
  assert.deepEqual(figures, { throttled: null, others: null, swappedInBytes: 0, swappedOutBytes: 4096 });
  assert.equal(machineFigures(measurements(), { swapped: () => undefined }, 2).swappedInBytes, null);
});

describe('CPU beyond what the machine has', () => {
  const resources = [{ machine: { kernel: 'k', cores: 2 } }, { machine: { kernel: 'k', cores: 2 } }] as never;
  const of = (workerUs: number) =>
    measurements({
      ...{ sharedHost: false, workerResources: resources },
      cpu: {
        unloaded: [],
        ramps: [{ ...window(10, 1000, workerUs), parts: [window(10, 1000, workerUs)], failedAttempts: 0 }],
        idle: [],
        messages: [],
        broadcasts: [],
      },
    });

  it('omits CPU figures beyond the cores of the machine, with the reason', () => {
    const wrong = of(1_193e6);
    assert.deepEqual(cpuFigures(wrong, LAYERS), {});
    const [found] = impossibleCpu(wrong);
    assert.deepEqual(found?.figures, ['worker']);
    assert.equal(found?.message, 'worker reported 1,193.0 s of CPU within 10.0 s on 2 cores');
    assert.equal(impossibleCpu(of(40e6)).length, 1);
  });

  it('reports no impossible CPU if the first reading may have waited for a core', () => {
    const late = of(40e6);
    for (const ramp of late.cpu.ramps) ramp.secondsAtMost = 20;
    assert.deepEqual(impossibleCpu(late), []);
  });

  it('excludes CPU that exited child processes of the generator had used before the window', () => {
    const reaped = of(0);
    for (const ramp of reaped.cpu.ramps) ramp.cpuUs = { artillery: 1_193e6 };
    assert.deepEqual(impossibleCpu(reaped), []);
  });

  it('CPU of a layer with unreadable processes is a lower bound', () => {
    const { worker } = cpuFigures(of(20e6), LAYERS, new Set(['worker']));
    const result = perfectResult();
    Object.assign(result.cpu.worker ?? {}, worker);
    assert.equal(worker?.isAtLeast, true);
    assert.match(cpuLines(result)[0]?.text ?? '', /^worker CPU: at least 20\.000 s per 1,000 connects/);
  });

  it("reports no impossible CPU if all cores are in use, or if the machine's size is unknown", () => {
    assert.equal(cpuFigures(of(20e6), LAYERS).worker?.rampSecondsPerThousandConnects, 20);
    assert.deepEqual(impossibleCpu({ ...of(1_193e6), workerResources: [] } as never), []);
  });
});
