import assert from 'node:assert/strict';
import { it, test } from 'node:test';
import { workerFigures } from '../../../plugin/result/assemble-workers.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { WorkerResources } from '../../../protocol/wire/events.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { inServicePoints } from '../../../report/figures/in-service.ts';
import { capacityLimitsOf } from '../../../report/figures/limits.ts';
import { whyNoPingLimit } from '../../../report/sections/capacity-section.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectResult, resultWithPings } from '../../helpers/results.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

const at = (...bytes: number[]) => bytes.map((workerRss, index) => ({ connections: index * 100, workerRss }));

/** Cases: memory at rest, before the collections, at the peak, and the expected memory in service. */
const CASES: [what: string, atRest: number[], before: number[], peak: number | undefined, inService: number[]][] = [
  ['equals the readings before the collections', [100, 150, 200], [110, 175, 240], undefined, [110, 175, 240]],
  [
    'equals the readings before the collections if the peak is lower',
    [100, 150, 200],
    [110, 175, 240],
    190,
    [110, 175, 240],
  ],
  ['includes the additional memory of the peak, in proportion', [100, 150, 200], [100, 160, 240], 400, [100, 250, 400]],
  ['uses the reading before the collections if it is higher', [100, 150, 200], [100, 260, 240], 400, [100, 260, 400]],
  ['equals its reading if there is only a baseline', [100], [110], 400, [110]],
  ['is unknown without readings', [1, 2], [], undefined, []],
];
for (const [what, atRest, before, workerRss, inService] of CASES) {
  it(`memory in service ${what}`, () => {
    const peakBytes: Record<string, number> = workerRss === undefined ? {} : { workerRss };
    const memory = { plateaus: at(...atRest), inService: { plateaus: at(...before), peakBytes } };
    assertEach(inServicePoints(memory, 'workerRss'), ({ y }) => y, inService);
  });
}

const GIB = 1024 ** 3;

test('counts the connections that fit into the memory budget in service, and lists the lowest limit first', () => {
  const { memoryLimited, limits, lowest } = computeCapacity(perfectResult(), 2 * GIB);
  assert.ok(memoryLimited);
  // Without connections, the workers use 110 MB. Each connection uses 15,000 bytes at rest, and 15 MB are added in
  // service at 5,000 connections.
  const expected = (2 * GIB - 110 * 1024 * 1024) / 18_140;
  assert.ok(Math.abs(memoryLimited.connections - expected) / expected < 0.03, `${memoryLimited.connections}`);
  assert.deepEqual(limits.map(({ name }) => name).toSorted(), ['machineMemory', 'workerFileDescriptors']);
  assert.deepEqual(limits[0], { name: 'workerFileDescriptors', max: 40_000 });
  assert.equal(lowest, 'workerFileDescriptors');
});

test('an unreliable figure of memory in service sets no limit on the number of connections', () => {
  const result = perfectResult();
  const { systemUsed } = result.memory.inService?.perConnectionBytes ?? {};
  assert.ok(systemUsed);
  systemUsed.doubt = 'grows';
  assert.deepEqual(column(computeCapacity(result, GIB).limits, 'name'), ['workerFileDescriptors']);
});

function remoteResult(workers: WorkerResources[] = []): Result {
  const remote = perfectResult();
  Object.assign(remote.run, { profile: 'remote', target: 'https://staging.example.com' });
  return { ...remote, ...workerFigures({ ...measurements(), workerResources: workers }) };
}

test('lists the limits of a remote deployment as unknown if its workers report nothing', () => {
  const remote = remoteResult();
  remote.memory = { ...remote.memory, plateaus: [], perConnectionBytes: {}, peakBytes: {} };
  for (const result of [remoteResult(), remote]) {
    const { limits, unknown, lowest, pings } = computeCapacity(result, GIB);
    assert.deepEqual([limits, lowest, pings], [[], null, null]);
    assert.deepEqual(column(unknown, 'name'), ['workerFileDescriptors', 'workerMemory', 'workerMachinesMemory']);
  }
  assert.equal(computeCapacity(remote, GIB).memoryLimited, null, 'without plateaus');
});

test('takes files, containers and machines of a remote deployment as limits if its workers report them', () => {
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
  // The workers have two containers of 1 GiB on a machine of 16 GiB.
  assert.ok(Math.abs((max.workerMemory ?? 0) - (2 * GIB - 110 * 2 ** 20) / 18_140) < 5000, `${max.workerMemory}`);
  assert.ok((max.workerMachinesMemory ?? 0) > (max.workerMemory ?? 0) * 3, `${max.workerMachinesMemory}`);
  Object.assign(remote.workers[1] ?? {}, { container: null, memoryLimitBytes: null });
  assert.deepEqual(column(computeCapacity(remote, GIB).unknown, 'name'), ['workerMemory'], 'only some have a limit');
});

test('limits a remote deployment by the CPU for pings on the cores that its workers can use', () => {
  const all = computeCapacity(resultWithPings(), GIB).pings?.connections ?? 0;
  const own = workerResources();
  const { run, workers, workerMachines } = remoteResult([own, { ...own, worker: 'w1', usableCores: 0.5 }]);
  const pings = computeCapacity({ ...resultWithPings(), run, workers, workerMachines }, GIB).pings?.connections ?? 0;
  // A worker has one thread, so the deployment can use 1.5 of 8 cores instead of 2.
  assert.ok(Math.abs(pings - all * 0.75) <= 1, `${pings} of ${all}`);
});

/** Copies the figures of a layer to another layer. */
function copyFigure({ memory }: Result, from: string, to: string): void {
  const { perConnectionBytes, inService, plateaus, peakBytes } = memory;
  const all = [...plateaus, ...(inService?.plateaus ?? []), peakBytes, ...(inService ? [inService.peakBytes] : [])];
  for (const figures of all as Record<string, number>[]) if (from in figures) figures[to] = figures[from] as number;
  for (const slopes of [perConnectionBytes, inService?.perConnectionBytes]) {
    const slope = slopes?.[from];
    if (slopes && slope) Object.assign(slopes, { [to]: slope });
  }
}

test("a container's memory limit limits connections, and its CPU quota counts as cores", () => {
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

test('the CPU that workers and proxy need for pings limits the number of idle connections', () => {
  const { pings, limits } = computeCapacity(resultWithPings(), GIB);
  // Idle CPU is 2.1 % plus 0.4 % of a core for 5,000 connections, on two cores. The interval is 2.25 % to 2.75 %.
  assert.deepEqual(pings, { intervalMs: 25_000, connections: 400_000, low95: 363_636, high95: 444_444 });
  assert.ok(limits.some(({ name, max }) => name === 'pings' && max === 400_000));
});

test('pings set no limit on connections if the hold had no pings, or if noise hides their CPU', () => {
  const [short, noisy, silent] = [resultWithPings(), resultWithPings(), resultWithPings()];
  short.stages = [
    { name: 'hold', t: 60 },
    { name: 'broadcasts', t: 80 },
  ];
  Object.assign(noisy.cpu.worker ?? {}, { idleConnectionsPercent: null });
  silent.environment.server = null;
  for (const [result, why] of [
    [short, /20 s .*25 s/],
    [noisy, /noise/],
    [silent, /ping interval/],
  ] as const) {
    assert.equal(computeCapacity(result, GIB).pings, null);
    assert.match(whyNoPingLimit(result) ?? '', why);
  }
  assert.equal(whyNoPingLimit(perfectResult()), null, 'there was no hold');
});

test('the capacity ignores limits and budgets below the number of connections that were held', () => {
  const result = perfectResult();
  result.capacity.limits = [
    { name: 'machineMemory', max: 4000 },
    { name: 'workerFileDescriptors', max: 5000 },
    { name: 'memoryBudget', max: 6000 },
  ];
  assert.deepEqual(capacityLimitsOf(result), [{ name: 'workerFileDescriptors', max: 5000 }]);
  result.connections.held = 5001;
  assert.deepEqual(capacityLimitsOf(result), []);
});
