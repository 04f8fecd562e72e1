import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GENERATOR, ResourceWindows, throttledBetween } from '../../../plugin/run/windows/resources.ts';
import type { MachineTotals } from '../../../plugin/samplers/index.ts';
import type { WorkerResources } from '../../../protocol/events.ts';
import type { CpuQuota } from '../../../protocol/machine/cgroup.ts';
import { measurements } from '../../helpers/measurements.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

function quota(group: string, periods: number, throttledPeriods: number): CpuQuota {
  return { cores: 0.5, periods, throttledPeriods, throttledUs: throttledPeriods * 50_000, group };
}

function withQuota(worker: string, one: CpuQuota): WorkerResources {
  return workerResources({ worker, cgroup: { cpu: [one], memory: [], tasks: [] } });
}

/** @returns what the windows note of these readings, the first at the begin, one at the end of each window */
async function noted(
  windows: ('ramp' | 'broadcasts')[],
  readings: (WorkerResources[] | Error)[],
  own: CpuQuota[] = [],
  machine: MachineTotals[] = [],
) {
  const measured = measurements();
  const reader = new ResourceWindows(
    async () => {
      const next = readings.shift() ?? [];
      if (next instanceof Error) throw next;
      return next;
    },
    { own: () => ({ quotas: own.splice(0, 1), cpu: undefined }), machine: async () => machine.shift() },
  );
  await reader.begin();
  for (const window of windows) await reader.end(window, measured);
  return measured;
}

describe('between two readings', () => {
  it('the quota that stopped most often counts', () => {
    const before = [quota('/own', 100, 10), quota('/pod', 100, 0)];
    const after = [quota('/own', 200, 15), quota('/pod', 180, 40)];
    const expected = { cores: 0.5, periods: 80, throttledPeriods: 40, throttledMs: 2000 };
    assert.deepEqual(throttledBetween(before, after), expected);
  });

  it('nothing is known without a quota before, or of another group', () => {
    assert.equal(throttledBetween([], [quota('/own', 9, 9)]), undefined);
    assert.equal(throttledBetween([quota('/other', 1, 1)], [quota('/own', 9, 9)]), undefined);
    assert.equal(throttledBetween([quota('/own', 9, 9)], [quota('/own', 1, 1)]), undefined, 'made anew');
  });
});

describe('in the windows of a run', () => {
  it('the worst of several ramps stays, and what was before a window does not count', async () => {
    const own = [quota('/g', 50, 50), quota('/g', 150, 80), quota('/g', 250, 85), quota('/g', 260, 85)];
    const { throttled } = await noted(['ramp', 'ramp', 'broadcasts'], [], own);
    const { ramp, broadcasts } = throttled.get(GENERATOR) ?? {};
    assert.deepEqual([ramp?.periods, ramp?.throttledPeriods], [100, 30]);
    assert.deepEqual([broadcasts?.periods, broadcasts?.throttledPeriods], [10, 0]);
  });

  it('workers are known by name; one in the generator’s own group says nothing new, and a silent one nothing', async () => {
    const at = (times: number) => [
      withQuota('w0', quota('/g', 100 * times, 90 * times)),
      withQuota('w1', quota('/w1', 100 * times, 20 * times)),
    ];
    const own = [quota('/g', 1, 0), quota('/g', 2, 0), quota('/g', 3, 0)];
    const { throttled } = await noted(['ramp', 'broadcasts'], [at(1), at(2), new Error('gone')], own);
    assert.deepEqual([...throttled.keys()].sort(), [GENERATOR, 'w1']);
    assert.deepEqual(throttled.get('w1'), {
      ramp: { cores: 0.5, periods: 100, throttledPeriods: 20, throttledMs: 1000 },
    });
  });

  it('the part in which others took most of this machine stays', async () => {
    const at = (second: number, stealUs: number, othersUs: number): MachineTotals => ({
      ...{ atMs: second * 1000, cores: 2, busyUs: second * 2e6, stealUs, interruptUs: 0 },
      processes: { oursUs: 0, othersUs, kernelUs: 0, programsUs: new Map([['tsc', othersUs]]) },
    });
    const readings = [at(0, 0, 0), at(1, 0.2e6, 0.1e6), at(2, 0.2e6, 0.9e6), at(3, 0.3e6, 0.9e6)];
    const { machineShares } = await noted(['ramp', 'ramp', 'ramp'], [], [], readings);
    const { stealCores, othersCores, programs } = machineShares.ramp ?? {};
    assert.deepEqual([stealCores, othersCores, programs], [0, 0.8, [{ name: 'tsc', cores: 0.8 }]]);
  });

  it('the least idle CPU of a machine stays, and the most of what goes up and down', async () => {
    const at = (busyUs: number, idleUs: number, stealUs: number, openFiles: number, usedBytes: number) => {
      const { machine } = workerResources();
      const cpu = { busyUs, idleUs, stealUs, interruptUs: 0 };
      return [workerResources({ openFiles, machine: { ...machine, usedBytes, cpu } })];
    };
    const readings = [at(0, 0, 0, 10, 5), at(90, 10, 5, 500, 90), at(100, 90, 25, 20, 70)];
    const { machineIdle, machineSteal, workerResources: last } = await noted(['ramp', 'ramp'], readings);
    assert.deepEqual([...machineIdle.values()], [{ ramp: 10 }]);
    assert.deepEqual([...machineSteal.values()], [{ ramp: (100 * 20) / 90 }]);
    assert.deepEqual([last[0]?.openFiles, last[0]?.machine.usedBytes], [500, 90]);
  });
});
