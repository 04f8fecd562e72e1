import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MachineWindows } from '../../../plugin/conduct/hosts/host.ts';
import { generatorHosts } from '../../../plugin/result/assemble-machine.ts';
import { thisMachine } from '../../../protocol/base/machine/this-host.ts';
import { assertEach } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';

const BEGAN_US = 5_000_000;
const pressure = { cpu: 0.5, memory: 0, io: 0.25 };
const USED = {
  seconds: 5,
  cores: 2,
  busyCores: 1,
  stealCores: 0.1,
  oursCores: 0.5,
  kernelCores: 0,
  errorCores: 0.1,
  pressure,
};

/**
 * Returns the stages of a run with two ramps.
 * @param t start of each stage
 */
const stagesAt = (...t: number[]) =>
  t.map((at, index) => ({ name: ['ramp', 'plateau', 'ramp', 'hold', 'broadcasts'][index] as string, t: at }));

function row(seconds: number, cpuIdlePercent: number) {
  const clock = { offsetUs: 0, boundUs: 0 };
  return { atUs: BEGAN_US + seconds * 1e6, cpuIdlePercent, clock, skippedUsers: 0 };
}

test('averages readings of a machine per window of the run, even if the readings arrive late', () => {
  const stages = stagesAt(1, 3, 5, 7, 20);
  const windows = new MachineWindows();
  windows.add(row(0.5, 1), { stages: [], samplesBeganAtUs: undefined });
  windows.add(row(1.5, 80), { stages: stages.slice(0, 1), samplesBeganAtUs: BEGAN_US });
  for (const lateRow of [row(2.5, 60), row(4, 2), row(6, 50), row(8, 90), row(21, 30)])
    windows.add(lateRow, { stages, samplesBeganAtUs: BEGAN_US });
  assert.deepEqual(windows.cpuIdlePercent, { ramp: 50, messages: 90, broadcasts: 30 });
});

test('averages the CPU of other programs in each window of the run, and reports the highest of the ramps', () => {
  const run = { stages: stagesAt(0, 10, 20, 30, 30), samplesBeganAtUs: BEGAN_US };
  const windows = new MachineWindows();
  for (const [at, seconds, othersCores, name] of [
    [5, 5, 0.1, 'tsc'],
    [15, 5, 1.9, 'between'],
    [24, 4, 0.5, 'tsc'],
    [30, 6, 1, 'cp'],
    [35, 5, 0.2, 'cp'],
  ] as const) {
    const shares = { ...USED, seconds, othersCores, programs: [{ name, cores: othersCores }] };
    windows.add({ ...row(at, 50), shares }, run);
  }
  const { ramp, broadcasts } = windows.shares;
  assert.ok(ramp && broadcasts);
  assert.ok(Math.abs((ramp.othersCores ?? 0) - 0.8) < 1e-9);
  assertEach(ramp.programs, ({ name, cores }) => `${name} ${cores}`, ['cp 0.6', 'tsc 0.2']);
  assert.deepEqual([ramp.seconds, ramp.stealCores, broadcasts.othersCores], [10, 0.1, 0.2]);
  assert.deepEqual(ramp.pressure, pressure);
});

test('attributes no CPU to other programs on a machine shared with another host or with a worker', () => {
  const shares = { ...USED, othersCores: 1, programs: [{ name: 'node', cores: 1 }] };
  const own = { cores: 2, memoryLimitBytes: null, machine: thisMachine(), clock: undefined, cpuIdlePercent: {} };
  const known = { ...own, arrivals: 1, beganAtUs: 0, lost: undefined };
  const host = (name: string, kernel: string) => ({
    ...{ host: name, kernel, ...known },
    shares: { ramp: shares, messages: shares },
  });
  const measured = measurements({
    hosts: [host('a', 'k'), host('b', 'k'), host('c', 'w'), host('d', 'own')],
    workerResources: [{ machine: { kernel: 'w' } } as never],
  });
  // The window `messages` is missing, because the run sends no messages.
  const found = generatorHosts(measured).map(({ others }) =>
    others.map(({ window, othersCores, stealCores }) => `${window}: ${othersCores}, ${stealCores}`),
  );
  const unknown = ['ramp: null, 0.1'];
  assert.deepEqual(found, [unknown, unknown, unknown, ['ramp: 1, 0.1']]);
});
