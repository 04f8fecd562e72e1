import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GeneratorHosts } from '../../../plugin/conduct/hosts/generator-hosts.ts';
import { generatorHosts } from '../../../plugin/result/generators.ts';
import { measurements } from '../../helpers/measurements.ts';

const BEGAN_US = 5_000_000;
const HELLO = {
  ...{ host: 'a', instance: 'i', kernel: 'k', version: '1', hosts: 1 },
  ...{ inputs: {}, arrivals: [4, 0, 6], cores: 2 },
};
const HOST = { name: 'a', hello: HELLO, beganAtUs: undefined, lost: undefined, clock: undefined };

function row(seconds: number, cpuIdlePercent: number) {
  return {
    ...{ atUs: BEGAN_US + seconds * 1e6, cpuIdlePercent },
    ...{ clock: { offsetUs: 0, boundUs: 0 }, skippedUsers: 0 },
  };
}

test('each row counts in the window that it is of, also if it comes late; of several ramps, the least counts', () => {
  const stages = [
    { name: 'ramp', t: 1 },
    { name: 'plateau', t: 3 },
    { name: 'ramp', t: 5 },
    { name: 'hold', t: 7 },
  ];
  const generators = new GeneratorHosts(() => [HOST]);
  generators.add('a', row(0.5, 1), { stages: [], beganAtUs: undefined });
  generators.add('a', row(1.5, 80), { stages: stages.slice(0, 1), beganAtUs: BEGAN_US });
  const timeline = { stages: [...stages, { name: 'broadcasts', t: 20 }], beganAtUs: BEGAN_US };
  for (const late of [row(2.5, 60), row(4, 2), row(6, 50), row(8, 90), row(21, 30)])
    generators.add('a', late, timeline);
  const [measured] = generators.measured();
  assert.deepEqual(measured?.cpuIdlePercent, { ramp: 50, messages: 90, broadcasts: 30 });
  assert.equal(measured?.arrivals, 10);
});

test('who else used its CPUs is the mean of each window; of several ramps, of that in which others took most', () => {
  const stages = [
    { name: 'ramp', t: 0 },
    { name: 'plateau', t: 10 },
    { name: 'ramp', t: 20 },
    { name: 'broadcasts', t: 30 },
  ];
  const timeline = { stages, beganAtUs: BEGAN_US };
  const shares = (seconds: number, othersCores: number, program: string) => ({
    ...{ seconds, cores: 2, busyCores: 1, stealCores: 0.1, oursCores: 0.5, kernelCores: 0 },
    ...{ othersCores, errorCores: 0.1 },
    programs: [{ name: program, cores: othersCores }],
  });
  const generators = new GeneratorHosts(() => [HOST]);
  const add = (seconds: number, some: ReturnType<typeof shares>) =>
    generators.add('a', { ...row(seconds, 50), shares: some }, timeline);
  add(5, shares(5, 0.1, 'tsc'));
  add(15, shares(5, 1.9, 'between'));
  add(24, shares(4, 0.5, 'tsc'));
  add(30, shares(6, 1, 'cp'));
  add(35, shares(5, 0.2, 'cp'));
  const { ramp, broadcasts } = generators.measured()[0]?.shares ?? {};
  assert.ok(ramp && broadcasts);
  assert.ok(Math.abs((ramp.othersCores ?? 0) - 0.8) < 1e-9);
  assert.deepEqual(ramp.programs, [
    { name: 'cp', cores: 0.6 },
    { name: 'tsc', cores: 0.2 },
  ]);
  assert.deepEqual([ramp.seconds, ramp.stealCores, broadcasts.othersCores], [10, 0.1, 0.2]);
});

test('programs beside others of the run are not known by name: another host of the same machine, or a worker', () => {
  const used = {
    seconds: 5,
    cores: 2,
    busyCores: 1,
    stealCores: 0.3,
    oursCores: 0.5,
    kernelCores: 0,
  };
  const rest = {
    othersCores: 1,
    errorCores: 0.1,
    programs: [{ name: 'node', cores: 1 }],
  };
  const host = (name: string, kernel: string) => ({
    ...{
      host: name,
      kernel,
      cores: 2,
      arrivals: 1,
      beganAtUs: 0,
      lost: undefined,
      clock: undefined,
      cpuIdlePercent: {},
    },
    shares: { ramp: { ...used, ...rest }, messages: { ...used, ...rest } },
  });
  const worker = { machine: { kernel: 'w' } } as never;
  const measured = measurements({
    hosts: [host('a', 'k'), host('b', 'k'), host('c', 'w'), host('d', 'own')],
    workerResources: [worker],
  });
  const found = generatorHosts(measured).map(({ others }) =>
    others.map(({ window, othersCores, stealCores }) => [window, othersCores, stealCores]),
  );
  const unknown = [['ramp', null, 0.3]];
  // In a hold in which nothing is sent, nobody waits.
  assert.deepEqual(found, [unknown, unknown, unknown, [['ramp', 1, 0.3]]]);
});
