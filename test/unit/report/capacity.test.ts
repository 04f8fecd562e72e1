import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workerFigures } from '../../../plugin/result/workers.ts';
import type { WorkerResources } from '../../../protocol/events.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { limitsOf } from '../../../report/figures/limits.ts';
import { noPingLimit } from '../../../report/sections/capacity.ts';
import { column } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectResult, resultWithPings } from '../../helpers/results.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

const GIB = 1024 ** 3;

test('what fits into the budget in service, without an interval, and the lowest wall first', () => {
  const capacity = computeCapacity(perfectResult(), 2 * GIB);
  const { memoryLimited, limits, lowest } = capacity;
  assert.ok(memoryLimited);
  // 110 MB at no connections; 15,000 bytes each at rest, and 15 MB more in service at 5,000.
  const expected = (2 * GIB - 110 * 1024 * 1024) / 18_140;
  assert.equal(memoryLimited.basis, 'inService');
  assert.ok(Math.abs(memoryLimited.connections - expected) / expected < 0.03, `${memoryLimited.connections}`);
  assert.deepEqual([memoryLimited.low95, memoryLimited.high95], [null, null]);
  assert.deepEqual(limits.map(({ name }) => name).toSorted(), ['machineMemory', 'workerFileDescriptors']);
  assert.deepEqual(limits[0], { name: 'workerFileDescriptors', max: 40_000 });
  assert.equal(lowest, 'workerFileDescriptors');
});

function remoteResult(workers: WorkerResources[] = []): Result {
  const remote = perfectResult();
  Object.assign(remote.run, { profile: 'remote', target: 'https://staging.example.com' });
  return { ...remote, ...workerFigures({ ...measurements(), workerResources: workers }) };
}

test('of a remote deployment whose workers tell nothing, the walls are named, and none is the lowest', () => {
  const { limits, unknown, lowest } = computeCapacity(remoteResult(), GIB);
  assert.deepEqual(limits, []);
  assert.deepEqual(column(unknown, 'name'), ['workerFileDescriptors', 'workerMemory', 'workerMachinesMemory']);
  assert.equal(lowest, null);
});

test('of a remote deployment whose workers tell, files, containers and machines are walls', () => {
  const own = workerResources({ openFilesLimit: 8192, usableCores: 0.5 });
  const limited = (used: number, group: string) => ({ cpu: [], tasks: [], memory: [{ max: GIB, used, group }] });
  const remote = remoteResult([
    { ...own, worker: 'w0', cgroup: limited(1, '/a') },
    { ...own, worker: 'w1', cgroup: limited(1, '/b') },
  ]);
  const lines = { workerWorkingSet: 'workerPss', workerMachinesUsed: 'systemUsed' };
  for (const [figure, from] of Object.entries(lines)) copyFigure(remote, from, figure);
  const { limits, unknown, lowest } = computeCapacity(remote, 100 * GIB);
  assert.deepEqual(unknown, []);
  assert.equal(lowest, 'workerFileDescriptors');
  const max = Object.fromEntries(limits.map((limit) => [limit.name, limit.max]));
  assert.equal(max.workerFileDescriptors, 2 * 8192);
  // Two containers of 1 GiB; one machine of 16 GiB.
  assert.ok(Math.abs((max.workerMemory ?? 0) - (2 * GIB - 110 * 2 ** 20) / 18_140) < 5000, `${max.workerMemory}`);
  assert.ok((max.workerMachinesMemory ?? 0) > (max.workerMemory ?? 0) * 3, `${max.workerMachinesMemory}`);
  remote.workers[1] = { ...(remote.workers[1] as Result['workers'][number]), container: null, memoryLimitBytes: null };
  assert.deepEqual(computeCapacity(remote, GIB).unknown, [
    { name: 'workerMemory', why: 'only some workers have a limit' },
  ]);
});

test('of a remote deployment, the pings take the cores that its workers may use', () => {
  const all = computeCapacity(resultWithPings(), GIB).pings?.connections ?? 0;
  const own = workerResources();
  const two = { ...remoteResult([own, { ...own, worker: 'w1', usableCores: 0.5 }]) };
  const { run, workers, workerMachines } = two;
  const pings = computeCapacity({ ...resultWithPings(), run, workers, workerMachines }, GIB).pings?.connections ?? 0;
  // A worker has one thread: 1.5 of the 8 cores, in place of 2.
  assert.ok(Math.abs(pings - all * 0.75) <= 1, `${pings} of ${all}`);
});

/** As if the one were measured like the other. */
function copyFigure({ memory }: Result, from: string, to: string): void {
  const { perConnectionBytes, inService, plateaus, peakBytes } = memory;
  const all = [...plateaus, ...(inService?.plateaus ?? []), peakBytes, ...(inService ? [inService.peakBytes] : [])];
  for (const figures of all as Record<string, number>[]) if (from in figures) figures[to] = figures[from] as number;
  for (const slopes of [perConnectionBytes, inService?.perConnectionBytes]) {
    const slope = slopes?.[from];
    if (slopes && slope) Object.assign(slopes, { [to]: slope });
  }
}

test('in a container, its memory is a wall, and its quota counts as cores', () => {
  const result = resultWithPings();
  const all = computeCapacity(result, GIB).pings?.connections ?? 0;
  copyFigure(result, 'systemUsed', 'containerUsed');
  result.environment.limits = { cpuQuotaCores: 0.5, cpusAllowed: 1, containerMemoryBytes: 2 * GIB };
  const { pings, limits } = computeCapacity(result, GIB);
  assert.ok(Math.abs((pings?.connections ?? 0) - all / 4) <= 1, `${pings?.connections} of ${all}`);
  const [container, machine] = ['containerMemory', 'machineMemory'].map(
    (wall) => limits.find(({ name }) => name === wall)?.max ?? 0,
  );
  assert.ok(container && machine && container < machine / 5, `${container} of ${machine}`);
});

test('without plateaus nothing is claimed', () => {
  const result = perfectResult();
  result.run.profile = 'remote';
  result.memory = { ...result.memory, plateaus: [], perConnectionBytes: {}, peakBytes: {} };
  const capacity = computeCapacity(result, GIB);
  assert.deepEqual(capacity, {
    memoryLimited: null,
    pings: null,
    limits: [],
    unknown: capacity.unknown,
    lowest: null,
  });
  assert.equal(capacity.unknown.length, 3);
});

test('the pings of so many idle connections take all cores, by workers and proxy', () => {
  const { pings, limits } = computeCapacity(resultWithPings(), GIB);
  // 2.1 and 0.4 % of a core for 5,000 connections, on two cores; 2.75 % at most, and 2.25 % at least.
  assert.deepEqual(
    { ...pings, coresPerThousand: pings?.coresPerThousand.toFixed(6) },
    { intervalMs: 25_000, coresPerThousand: '0.005000', connections: 400_000, low95: 363_636, high95: 444_444 },
  );
  assert.ok(limits.some(({ name, max }) => name === 'pings' && max === 400_000));
});

test('nothing is claimed of pings that the hold did not have, or that the noise hides', () => {
  const short = resultWithPings();
  short.stages = [
    { name: 'hold', t: 60 },
    { name: 'broadcasts', t: 80 },
  ];
  assert.equal(computeCapacity(short, GIB).pings, null);
  assert.match(
    noPingLimit(short) ?? '',
    /^the hold of 20 s is shorter than the 25 s in which each connection is pinged once/,
  );
  const noisy = resultWithPings();
  if (noisy.cpu.worker) noisy.cpu.worker.idleConnectionsPercent = null;
  assert.equal(computeCapacity(noisy, GIB).pings, null);
  assert.match(noPingLimit(noisy) ?? '', /noise/);
  const silent = resultWithPings();
  silent.environment.server = null;
  assert.match(noPingLimit(silent) ?? '', /ping interval/);
  assert.equal(noPingLimit(perfectResult()), null, 'there was no hold');
});

test('what lies below what was held is no limit, nor is a budget', () => {
  const result = perfectResult();
  result.capacity.limits = [
    { name: 'machineMemory', max: 4000 },
    { name: 'workerFileDescriptors', max: 5000 },
    { name: 'memoryBudget', max: 6000 },
  ];
  assert.deepEqual(limitsOf(result), [{ name: 'workerFileDescriptors', max: 5000 }]);
  result.connections.held = 5001;
  assert.deepEqual(limitsOf(result), []);
});
