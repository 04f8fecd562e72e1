import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { generatorFigures } from '../../../plugin/result/assemble-machine.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import type { EngineSnapshot } from '../../../plugin/run/link.ts';
import { ConsecutiveWindows, cpuWindowSince, markWindowStart } from '../../../plugin/run/windows/cpu-window.ts';
import { beginGeneratorWindow, endGeneratorWindow } from '../../../plugin/run/windows/generator-window.ts';
import { GENERATOR_KEY, ResourceWindows, throttledBetween } from '../../../plugin/run/windows/resource-windows.ts';
import type { MachineTotals } from '../../../plugin/samplers/index.ts';
import type { CpuQuota, WorkerResources } from '../../../protocol/wire/events.ts';
import { assertEach } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

it('a window has the CPU of each layer since its start if the layer was read at both ends', async (t) => {
  const time = new VirtualTime(t);
  const { context } = new FakeRun();
  context.sampler.cpu = async () => {
    const answered = time.pass(300);
    await answered;
    return { worker: 100, nginx: 3 };
  };
  const begin = await markWindowStart(context);
  await time.pass(2500);
  context.sampler.cpu = async () => ({ worker: 150, redis: 20 });
  assert.deepEqual(await cpuWindowSince(context, begin, 7), {
    ...{ seconds: 2.5, secondsAtMost: 2.8 },
    ...{ units: 7, held: 0, cpuUs: { worker: 50 } },
  });
});

it('CPU windows have no gap between them, even if one ends while the previous is still being read', async () => {
  const { context } = new FakeRun();
  let readings = 0;
  context.sampler.cpu = async () => {
    const worker = 10 ** readings++;
    for (let wait = 5; wait > readings; wait--) await undefined;
    return { worker };
  };
  let units = 0;
  const windows = new ConsecutiveWindows(context, () => units++ * 5);
  void windows.next();
  void windows.next();
  assertEach(await windows.end(), ({ units, cpuUs }) => [units, cpuUs.worker], [
    [5, 9],
    [5, 90],
    [5, 900],
  ]);
});

function quota(group: string, periods: number, throttledPeriods: number): CpuQuota {
  return { cores: 0.5, periods, throttledPeriods, throttledUs: throttledPeriods * 50_000, group };
}

function withQuota(worker: string, one: CpuQuota): WorkerResources {
  return workerResources({ worker, cgroup: { cpu: [one], memory: [], tasks: [] } });
}

interface Readings {
  workers?: (WorkerResources[] | Error)[];
  /** CPU quotas of the generator. */
  own?: CpuQuota[];
  machine?: MachineTotals[];
}

/** @returns the quotas that were noted at the first reading, and at the end of each window */
async function noted(windows: ('ramp' | 'broadcasts')[], { workers = [], own = [], machine = [] }: Readings) {
  const measured = measurements();
  const ofWorkers = async () => {
    const next = workers.shift() ?? [];
    if (next instanceof Error) throw next;
    return next;
  };
  const ofOwn = () => ({ quotas: own.splice(0, 1), cpu: undefined });
  const reader = new ResourceWindows(ofWorkers, { own: ofOwn, machine: async () => machine.shift() });
  await reader.begin();
  for (const window of windows) await reader.end(window, measured);
  return measured;
}

describe('between two readings', () => {
  it('a window reports the throttling of the CPU quota that was throttled most', () => {
    const before = [quota('/own', 100, 10), quota('/pod', 100, 0)];
    const after = [quota('/own', 200, 15), quota('/pod', 180, 40)];
    const expected = { cores: 0.5, periods: 80, throttledPeriods: 40, throttledMs: 2000 };
    assert.deepEqual(throttledBetween(before, after), expected);
  });

  it('throttling is unknown without an earlier reading, or if the control group changed', () => {
    assert.equal(throttledBetween([], [quota('/own', 9, 9)]), undefined);
    assert.equal(throttledBetween([quota('/other', 1, 1)], [quota('/own', 9, 9)]), undefined);
    assert.equal(throttledBetween([quota('/own', 9, 9)], [quota('/own', 1, 1)]), undefined, 'made anew');
  });
});

describe('in the windows of a run', () => {
  it('reports the CPU throttling of the most throttled ramp, excluding throttling before the window', async () => {
    const own = [quota('/g', 50, 50), quota('/g', 150, 80), quota('/g', 250, 85), quota('/g', 260, 85)];
    const { throttled } = await noted(['ramp', 'ramp', 'broadcasts'], { own });
    const { ramp, broadcasts } = throttled.get(GENERATOR_KEY) ?? {};
    assert.deepEqual([ramp?.periods, ramp?.throttledPeriods], [100, 30]);
    assert.deepEqual([broadcasts?.periods, broadcasts?.throttledPeriods], [10, 0]);
  });

  it('reports throttled workers by name, except silent workers and workers in the generator’s group', async () => {
    const at = (times: number) => [
      withQuota('w0', quota('/g', 100 * times, 90 * times)),
      withQuota('w1', quota('/w1', 100 * times, 20 * times)),
    ];
    const own = [quota('/g', 1, 0), quota('/g', 2, 0), quota('/g', 3, 0)];
    const { throttled } = await noted(['ramp', 'broadcasts'], { workers: [at(1), at(2), new Error('gone')], own });
    assert.deepEqual([...throttled.keys()].sort(), [GENERATOR_KEY, 'w1']);
    assert.deepEqual(throttled.get('w1'), {
      ramp: { cores: 0.5, periods: 100, throttledPeriods: 20, throttledMs: 1000 },
    });
  });

  it('reports the part of a window in which other programs used the most CPU', async () => {
    const at = (second: number, stealUs: number, othersUs: number): MachineTotals => ({
      ...{ atMs: second * 1000, cores: 2, busyUs: stealUs + othersUs, stealUs, interruptUs: 0, pressure: undefined },
      processes: { oursUs: 0, othersUs, kernelUs: 0, programsUs: new Map([['tsc', othersUs]]) },
    });
    const machine = [at(0, 0, 0), at(1, 0.2e6, 0.1e6), at(2, 0.2e6, 0.9e6), at(3, 0.3e6, 0.9e6)];
    const { machineShares } = await noted(['ramp', 'ramp', 'ramp'], { machine });
    const { stealCores, othersCores, programs } = machineShares.ramp ?? {};
    assert.deepEqual([stealCores, othersCores, programs], [0, 0.8, [{ name: 'tsc', cores: 0.8 }]]);
  });

  it('reports the lowest idle CPU of a window, and the maximum of fluctuating values', async () => {
    const at = (busyUs: number, idleUs: number, stealUs: number, openFiles: number, usedBytes: number) => {
      const { machine } = workerResources();
      const cpu = { busyUs, idleUs, stealUs, interruptUs: 0 };
      return [workerResources({ openFiles, machine: { ...machine, usedBytes, cpu } })];
    };
    const workers = [at(0, 0, 0, 10, 5), at(90, 10, 5, 500, 90), at(100, 90, 25, 20, 70)];
    const { machineIdle, machineSteal, workerResources: last } = await noted(['ramp', 'ramp'], { workers });
    assert.deepEqual([...machineIdle.values()], [{ ramp: 10 }]);
    assert.deepEqual([...machineSteal.values()], [{ ramp: (100 * 20) / 90 }]);
    assert.deepEqual([last[0]?.openFiles, last[0]?.machine.usedBytes], [500, 90]);
  });
});

function loop(delayP99Ms: number) {
  return { utilization: 0.5, delayP50Ms: 0, delayP99Ms, delayMaxMs: delayP99Ms, cpuWaitShare: 0 };
}

function engine(host: string, id: string, engineMs: number, fleetMs: number[]): EngineSnapshot {
  return snapshot({
    from: { host, engine: id },
    engineLoop: loop(engineMs),
    processes: fleetMs.map((ms, index) => ({
      ...{ pid: 100 + index, index, alive: true, answers: true, connections: 1, rssBytes: 0, cpuUs: 0 },
      eventLoop: loop(ms),
    })),
  });
}

async function loopsOf(...rounds: EngineSnapshot[][]) {
  const measured = measurements();
  for (const snapshots of rounds) {
    const link = { snapshots: async () => snapshots } as RunContext['link'];
    const context = { ...new FakeRun().context, link, measurements: measured };
    await endGeneratorWindow(context, 'ramp');
  }
  return generatorFigures(measured).map(({ part, index, engine: id, delayP99Ms }) => [part, index, id, delayP99Ms]);
}

test('fleets of several Artillery workers have separate rows, although each counts its processes from 0', async () => {
  assert.deepEqual(await loopsOf([engine('here', '1', 1, [2, 3]), engine('here', '2', 4, [5])]), [
    ['artillery', 0, '1', 1],
    ['fleet', 0, '1', 2],
    ['fleet', 1, '1', 3],
    ['artillery', 1, '2', 4],
    ['fleet', 2, '2', 5],
  ]);
});

test('fleets of two hosts have separate rows, although their Artillery workers share an id', async () => {
  const rows = await loopsOf([engine('here', '1', 1, [2]), engine('there', '1', 3, [4])]);
  assertEach(rows, ([part, index, , ms]) => `${part} ${index}: ${ms}`, [
    ...['artillery 0: 1', 'fleet 0: 2'],
    ...['artillery 1: 3', 'fleet 1: 4'],
  ]);
});

test('the highest delay of each generator event loop over all ramps is kept, in any order of replies', async () => {
  const rows = await loopsOf(
    [engine('here', '1', 1, [9]), engine('here', '2', 1, [1])],
    [engine('here', '2', 1, [7]), engine('here', '1', 1, [2])],
  );
  assertEach(rows, ([part, , , ms]) => `${part}: ${ms}`, ['artillery: 1', 'fleet: 9', 'artillery: 1', 'fleet: 7']);
});

test('the share of time waiting for a CPU is unknown if the kernel does not report it', async () => {
  const { context, measurements } = new FakeRun();
  context.link.snapshots = async () => [snapshot({ engineLoop: { ...loop(1), cpuWaitShare: null } })];
  await endGeneratorWindow(context, 'ramp');
  await endGeneratorWindow(context, 'ramp');
  assert.equal(measurements.generator[0]?.cpuWaitShare, null);
});

test('resetting the generator’s event loop delays records no row, and queries no external engine', async () => {
  const run = new FakeRun();
  await beginGeneratorWindow(run.context);
  assert.deepEqual([run.asked, run.measurements.generator], [['snapshots'], []]);
  run.context.ledger = false;
  await beginGeneratorWindow(run.context);
  await endGeneratorWindow(run.context, 'ramp');
  assert.deepEqual([run.asked, run.measurements.generator], [['snapshots'], []]);
});
