import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FURTHER_LAYERS, LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { Sampler, type SamplerSources } from '../../../plugin/samplers/sampler.ts';
import type { WorkerResources, WorkerStats } from '../../../protocol/wire/events.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { type StartedProcess, startProcess } from '../../helpers/process.ts';
import { readAll } from '../../helpers/readings.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

const MB = 1024 * 1024;
const linux = process.platform === 'linux';

/** Starts a process that keeps 32 MB, and uses a core after its start. */
async function startBurner(t: TestContext): Promise<StartedProcess> {
  const program = `const held = Buffer.alloc(32 * ${MB}, 1); process.stdout.write('up', () => { while (held); });`;
  const burner = startProcess(t, process.execPath, ['-e', program]);
  await burner.said(/up/);
  return burner;
}

function startSampler(t: TestContext, sources: Partial<SamplerSources>): Sampler {
  const sampler = new Sampler({ pids: () => ({}), connections: () => 0, intervalMs: 50, ...sources });
  t.after(() => sampler.close());
  return sampler;
}

const stats = (figures: Partial<WorkerStats>) =>
  ({ rssBytes: 0, heapUsedBytes: 0, externalBytes: 0, cpuUserUs: 0, cpuSystemUs: 0, ...figures }) as WorkerStats;

/** Workers with fixed statistics. If no resources are given, `resources` rejects. */
const workersWith = (all: WorkerStats[], resources?: WorkerResources[]) => ({
  stats: async () => all,
  resources: async () => resources ?? Promise.reject(new Error('worker is gone')),
});

const NO_COUNTS = { keys: 0, channels: 0, patterns: 0, clients: 1 };
const REDIS = {
  runIds: { Redis: '1' },
  usedMemoryBytes: 1,
  rssBytes: 2,
  ...NO_COUNTS,
  pubSubOutputBytes: 4,
  pubSubTotalBytes: 5,
};
const redis = { name: 'Redis at a:1', failures: 0, absence: undefined, read: async () => REDIS };
const ELSEWHERE = { notShared: 'the workers run on another machine' };

test('sample rows contain the CPU of other programs if all programs were read', async (t) => {
  const cores = { seconds: 1, cores: 2, busyCores: 1, oursCores: 0, kernelCores: 0, errorCores: 0, pressure: null };
  const sharesOf = (othersCores: number | null, stealCores: number) => ({
    ...cores,
    programs: [],
    othersCores,
    stealCores,
  });
  const shares = [undefined, sharesOf(0.6, 0.25), sharesOf(null, 0)];
  const sampler = startSampler(t, { machine: { tick: async () => shares.shift() } });
  sampler.start();
  await eventually('four rows', () => sampler.samples.length >= 4);
  const rows = sampler.samples.slice(0, 4);
  assertEach(rows, ({ others }) => others?.cpuPercent, [undefined, 60, undefined, undefined]);
  assertEach(rows, ({ steal }) => steal?.cpuPercent, [undefined, 25, 0, undefined]);
});

test('sample rows contain memory and CPU of the existing layers, connections, and the machine', async (t) => {
  const burner = await startBurner(t);
  let connections = 0;
  const sampler = startSampler(t, {
    pids: () => ({ worker: [burner.pid], artillery: [process.pid], nginx: [] }),
    connections: () => connections++,
    intervalMs: 200,
  });
  sampler.start();
  await eventually('four rows', () => sampler.samples.length >= 4);
  const rows = sampler.samples;
  assert.equal(rows[0]?.t, Math.min(...rows.map((row) => row.t)));
  assert.ok((rows[0]?.t ?? 1) < 0.2);
  assert.equal(rows[0]?.worker?.cpuPercent, undefined);
  assert.deepEqual(column(rows.slice(0, 4), 'connections'), [0, 1, 2, 3]);
  for (const row of rows) {
    assert.ok((row.worker?.rssBytes ?? 0) > 32 * MB);
    assert.ok((row.artillery?.rssBytes ?? 0) > 0);
    assert.equal(row.nginx, undefined);
    assert.equal(row.redis, undefined);
  }
  if (!linux) return;
  const cpuPercents = rows.slice(1).map((row) => row.worker?.cpuPercent ?? 0);
  assert.ok(Math.max(...cpuPercents) > 20, `a process that burns a core used ${cpuPercents} %`);
  assert.ok(rows.some((row) => (row.worker?.pssBytes ?? 0) > 32 * MB));
  // PSS is not read for every row, because it would take too long.
  const pss = rows.map(({ worker }) => [worker?.pssBytes, worker?.derivedPssBytes]);
  assert.ok(pss.some(([read, derived]) => read === undefined && (derived ?? 0) > 32 * MB));
  assert.ok(pss.every(([read, derived]) => (read === undefined) !== (derived === undefined)));
  assert.ok(rows.slice(1).every((row) => (row.system?.usedBytes ?? 0) > 0));
});

test('sample rows follow an absolute schedule, and missed rows are counted', async (t) => {
  const time = new VirtualTime(t);
  const sampler = startSampler(t, {
    connections: () => {
      if (sampler.samples.length === 2) time.jump(180);
      return 0;
    },
  });
  sampler.start();
  await time.pass(400);
  // The third row takes until 280 ms. Rows that are due in this time are missed, and later rows are on time.
  const rowTimesMs = sampler.samples.map(({ t }) => Math.round(t * 1000));
  assert.deepEqual(rowTimesMs, [0, 50, 100, 300, 350, 400]);
  const { missed, taken, longestGapMs, failures } = sampler.health();
  assert.deepEqual({ missed, taken, longestGapMs, failures }, { missed: 3, taken: 6, longestGapMs: 200, failures: {} });
});

test('each reading has a value, or a reason for its absence, for every layer', async (t) => {
  const burner = await startBurner(t);
  const workers = workersWith([
    stats({ heapUsedBytes: 10, externalBytes: 1 }),
    stats({ heapUsedBytes: 20, externalBytes: 2 }),
  ]);
  const pids = () => ({ worker: [burner.pid], nginx: [burner.pid, 2 ** 30] });
  const sampler = startSampler(t, { pids, redis, workers });
  const { bytes: reading, absent } = await readAll(sampler);
  assert.ok((reading.workerRss ?? 0) > 32 * MB);
  assert.deepEqual([reading.workerHeapUsed, reading.workerExternal], [30, 3]);
  assert.deepEqual([reading.redisUsedMemory, reading.redisRss, reading.redisClientBuffers], [1, 2, 5]);
  assert.match(absent.nginxPss ?? '', /1 of its 2 processes have ended/);
  assert.match(absent.fleetPss ?? '', /none of its processes/);
  assert.equal(absent.redisRss, undefined);
  const names = LAYERS.flatMap(({ figures }) => figures.map(({ id }) => id));
  for (const name of names) {
    assert.notEqual(name in reading, name in absent, `${name} must have a value or a reason`);
  }
});

test('a source that cannot be read leaves the other values of a reading intact', async (t) => {
  const sampler = startSampler(t, {
    pids: () => Promise.reject(new Error('no pids')),
    redis: {
      ...redis,
      failures: 3,
      absence: { reason: 'unanswered', detail: 'ECONNREFUSED', sinceUs: undefined, fix: '' },
      read: async () => undefined,
    },
    workers: { ...workersWith([]), stats: () => Promise.reject(new Error('worker is gone')) },
  });
  const { bytes: reading, absent } = await readAll(sampler);
  assert.match(absent.workerHeapUsed ?? '', /worker is gone/);
  assert.equal(absent.redisUsedMemory, 'Redis at a:1 never answered: ECONNREFUSED');
  assert.deepEqual(sampler.health().failures, { processes: 1, redis: 3 });
  if (linux) assert.ok((reading.systemUsed ?? 0) > 0);
});

test('the sampled CPU time rises while a process runs, and does not fall when it ends', { skip: !linux }, async (t) => {
  const burner = await startBurner(t);
  const sampler = startSampler(t, { pids: () => ({ worker: [burner.pid] }) });
  const startedMs = performance.now();
  const before = await sampler.cpu();
  let during = before;
  await eventually('CPU time of a process that burns a core', async () => {
    during = await sampler.cpu();
    return (during.worker ?? 0) - (before.worker ?? 0) > 50_000;
  });
  const usedMs = ((during.worker ?? 0) - (before.worker ?? 0)) / 1000;
  // The garbage collector has its own threads, so the CPU time can exceed the elapsed time.
  const mostMs = 2 * (performance.now() - startedMs) + 20;
  assert.ok(usedMs < mostMs, `${usedMs} ms of at most ${mostMs}`);
  assert.ok((during.system ?? 0) > (before.system ?? 0));
  burner.kill();
  await burner.ended;
  const after = await sampler.cpu();
  assert.ok((after.worker ?? 0) >= (during.worker ?? 0));
});

test('close() of the sampler stops the sample rows, and can be called twice or without a start', async (t) => {
  const time = new VirtualTime(t);
  const sampler = startSampler(t, {});
  sampler.start();
  await time.pass(120);
  assert.equal(sampler.samples.length, 3);
  await time.until(Promise.all([sampler.close(), sampler.close()]));
  await time.pass(1000);
  assert.equal(sampler.samples.length, 3);
  await startSampler(t, {}).close();
});

test('a deployment on another machine has no memory layers of the local kernel', async (t) => {
  const sampler = startSampler(t, ELSEWHERE);
  const { bytes, absent } = await readAll(sampler);
  for (const layer of ['kernelTcp', 'kernelSlab', 'kernelPageTables', 'systemUsed', 'systemHeld']) {
    assert.equal(bytes[layer], undefined);
    assert.match(absent[layer] ?? '', /another machine/);
  }
  if (linux) assert.ok(((await sampler.cpu()).system ?? 0) > 0, 'the CPU of the generator is still read');
});

test('processes on other machines have the RSS and CPU that they report, and PSS only if all report it', async (t) => {
  const sampler = startSampler(t, {
    ...ELSEWHERE,
    redis,
    workers: workersWith([stats({ rssBytes: 10, cpuUserUs: 5 }), stats({ rssBytes: 20, cpuSystemUs: 7 })]),
  });
  const { bytes, absent } = await readAll(sampler);
  const { workerRss, redisRss, workerPss } = bytes;
  assert.deepEqual({ workerRss, redisRss, workerPss }, { workerRss: 30, redisRss: 2, workerPss: undefined });
  assert.match(absent.workerPss ?? '', /worker is gone/);
  assert.equal((await sampler.cpu()).worker, 12);
});

test('machines and containers of workers on other machines count once each', async (t) => {
  const own = workerResources();
  const resourcesOf = (pssBytes: number, used: number) => ({
    ...{ ...own, pssBytes },
    cgroup: { cpu: [], memory: [{ max: 50, used, group: '/a' }], tasks: [] },
  });
  const machine = { ...own.machine, kernel: 'kernel-2', usedBytes: 7 };
  const resources = [resourcesOf(1000, 10), resourcesOf(2000, 10), { ...resourcesOf(4000, 30), machine }].map(
    (one) => ({
      ...one,
      mallocBytes: 5,
    }),
  );
  const sampler = startSampler(t, {
    ...ELSEWHERE,
    layers: [...LAYERS, FURTHER_LAYERS.workerMachines],
    workers: workersWith([stats({}), stats({}), stats({})], resources),
  });
  const { workerPss, workerMalloc, workerWorkingSet, workerMachinesUsed, workerMachinesTcp } = (await readAll(sampler))
    .bytes;
  assert.deepEqual([workerPss, workerMalloc, workerWorkingSet], [7000, 15, 40]);
  assert.deepEqual([workerMachinesUsed, workerMachinesTcp], [2 ** 30 + 7, 8192]);
});

test('the PSS of workers on other machines follows their reported RSS between two readings', async (t) => {
  let rssBytes = 10_000;
  const workers = workersWith([], [workerResources({ pssBytes: 8000 })]);
  const reporting = { ...workers, stats: async () => [stats({ rssBytes })] };
  const sampler = startSampler(t, { ...ELSEWHERE, workers: reporting });
  await sampler.reading();
  rssBytes = 15_000;
  sampler.start();
  await eventually('a row', () => sampler.samples.length >= 1);
  assert.deepEqual(sampler.samples[0]?.worker, { rssBytes: 15_000, derivedPssBytes: 13_000 });
});

test('a sample row queries Redis once, and local workers not at all', { skip: !linux }, async (t) => {
  let queries = 0;
  const read = async () => {
    queries++;
    return REDIS;
  };
  const sampler = startSampler(t, {
    redis: { ...redis, read },
    pids: () => ({ worker: [process.pid] }),
    workers: { ...workersWith([]), stats: () => assert.fail('a worker was queried') },
  });
  sampler.start();
  await eventually('two rows', () => sampler.samples.length >= 2);
  await sampler.close();
  const rows = sampler.samples;
  assert.deepEqual(rows[0]?.redisServer, { usedMemoryBytes: 1, outputBufferBytes: 4, channels: 0, patterns: 0 });
  assert.equal(queries, rows.length);
});
