import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Sampler } from '../../../plugin/samplers/index.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import type { Layer } from '../../../plugin/samplers/layers/layer.ts';
import { CpuIncrements } from '../../../plugin/samplers/processes/cpu-increments.ts';
import type { ProcessReading } from '../../../plugin/samplers/processes/proc.ts';
import { type LayerPids, SharedPages, sumProcessBytes } from '../../../plugin/samplers/processes/process-memory.ts';
import { ProcessSeries } from '../../../plugin/samplers/processes/process-series.ts';
import { readLayerFigure } from '../../../plugin/samplers/reading.ts';
import { mergeRows, type SampleRow } from '../../../plugin/samplers/sample-row.ts';
import { createSamplerInputs } from '../../../plugin/samplers/sampler-inputs.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const skip = process.platform !== 'linux' && 'there is no PSS';
type Seen = Record<number, Partial<ProcessReading>>;

function processes(seen: Seen): Map<number, ProcessReading> {
  const none = { rssBytes: 0, cpuUs: 0, startedAtUs: 0 };
  return new Map(Object.entries(seen).map(([pid, reading]) => [Number(pid), { ...none, ...reading }]));
}

describe('the memory of a layer', () => {
  const whole = { rssBytes: 10, pssBytes: 7 };
  const readings = processes({ 1: whole, 2: { rssBytes: 20, pssBytes: 8 }, 3: { rssBytes: 20 } });

  it('the memory of a layer is the sum of its processes, and has a PSS only if all have one', () => {
    assert.deepEqual(
      [sumProcessBytes([1, 2], readings, 'rssBytes'), sumProcessBytes([1, 2], readings, 'pssBytes')],
      [30, 15],
    );
    assert.equal(sumProcessBytes([1, 3], readings, 'rssBytes'), 30);
    assert.throws(() => sumProcessBytes([1, 3], readings, 'pssBytes'), /smaps|Linux only/);
  });

  it('the memory of a layer is unknown if it is unknown for one of its processes', () => {
    const endedError = { message: '1 of its 3 processes have ended', reason: 'gone' };
    assert.throws(() => sumProcessBytes([1, 2, 4], readings, 'rssBytes'), endedError);
    for (const none of [[], undefined])
      assert.throws(() => sumProcessBytes(none, readings, 'rssBytes'), /none of its processes/);
  });
});

test('unattributed memory of the machine requires readings of the workers and of all other processes', {
  skip,
}, async () => {
  const system = LAYERS.find(({ id }) => id === 'system') as Layer;
  const readings = processes({ 1: { anonymousBytes: 5, sharedBytes: 1 }, 3: {} });
  const read = async (pids: LayerPids) => {
    const reading = await readLayerFigure(system, 'unmeasuredBytes', createSamplerInputs(pids, readings, {}));
    return 'value' in reading ? reading.source : reading.absent.detail;
  };
  assert.match(await read({ worker: [1], workerChildren: [1], nginx: [] }), /^\/proc\/meminfo less/);
  assert.match(await read({ worker: [1], nginx: [3] }), /smaps/);
  assert.match(await read({ fleet: [1] }), /the processes of the workers are unknown/);
});

describe('PSS that was not read', () => {
  const twoProcesses = processes({ 1: { rssBytes: 200, pssBytes: 150 }, 2: { rssBytes: 200, pssBytes: 170 } });
  const derive = (shared: SharedPages, pids: number[], rssBytes: number, layer = 'worker') =>
    shared.derive(layer, pids, rssBytes);

  it('derives an unread PSS from the RSS minus the memory shared at the last reading', () => {
    const shared = new SharedPages();
    assert.equal(derive(shared, [1, 2], 500), undefined);
    shared.note({ worker: [1, 2] }, twoProcesses);
    assert.deepEqual([derive(shared, [1, 2], 1000), derive(shared, [1, 2], 50)], [920, 0]);
    assert.equal(derive(shared, [1, 2], 1000, 'nginx'), undefined);
  });

  it('a PSS derived from shared memory is unknown if other processes were read', () => {
    const shared = new SharedPages();
    shared.note({ worker: [1] }, twoProcesses);
    assert.equal(derive(shared, [2], 1000), undefined);
    shared.note({ worker: [1] }, processes({ 1: { rssBytes: 300 } }));
    shared.note({ worker: [1] }, new Map());
    assert.equal(derive(shared, [1], 1000), 950, 'the reading before stands');
  });
});

/** Consecutive readings, each with the microseconds that it adds, and the reason. */
const HISTORIES: Record<string, [seen: Seen, addsUs: number, because: string][]> = {
  'CPU time never falls when a process dies, is replaced, or its pid is reused': [
    [{ 1: { cpuUs: 100 }, 2: { cpuUs: 50 } }, 150, 'from their start'],
    [{ 1: { cpuUs: 130 }, 2: { cpuUs: 60 } }, 40, 'since the reading before'],
    [{ 1: { cpuUs: 140 } }, 10, 'process 2 is gone; what it used stays'],
    [{ 1: { cpuUs: 140 }, 3: { cpuUs: 5, startedAtUs: 9e6 } }, 5, 'its successor counts from its own start'],
    [{ 1: { cpuUs: 20, startedAtUs: 99e6 }, 3: { cpuUs: 5, startedAtUs: 9e6 } }, 20, 'the same pid, another process'],
  ],
  'an older reading that arrives late adds no CPU time': [
    [{ 1: { cpuUs: 100 } }, 100, 'the first'],
    [{ 1: { cpuUs: 90 } }, 0, 'the older one'],
    [{ 1: { cpuUs: 110 } }, 10, 'the next'],
  ],
  'the CPU of child processes counts once, even after they ended': [
    [{ 1: { cpuUs: 100, reapedUs: 0 } }, 100, 'the process'],
    [{ 1: { cpuUs: 100, reapedUs: 30 } }, 30, 'a child that nobody saw'],
    [{ 1: { cpuUs: 100, reapedUs: 30 }, 2: { cpuUs: 50, parent: 1 } }, 50, 'one that somebody saw'],
    [{ 1: { cpuUs: 110, reapedUs: 30 } }, 10, 'it has ended, and nobody has asked for it'],
    [{ 1: { cpuUs: 110, reapedUs: 85 } }, 5, 'the last of it'],
    [{ 3: { cpuUs: 7 } }, 7, 'another process in its place'],
  ],
  'the unread CPU of an ended process tree goes to its parent': [
    [{ 1: { reapedUs: 0 }, 2: { cpuUs: 10, parent: 1 }, 3: { cpuUs: 20, parent: 2 } }, 30, 'three generations'],
    [{ 1: { reapedUs: 0 } }, 0, 'two are gone'],
    [{ 1: { reapedUs: 33 } }, 3, 'what they used last'],
  ],
};

for (const [name, history] of Object.entries(HISTORIES)) {
  it(name, () => {
    const increments = new CpuIncrements();
    for (const [seen, addsUs, because] of history) {
      const added = [...increments.add(processes(seen), () => true).values()];
      const sum = added.reduce((total, us) => total + us, 0);
      assert.equal(sum, addsUs, because);
    }
  });
}

it('a process that is missing in one reading does not count as new in the next reading', () => {
  const increments = new CpuIncrements();
  increments.add(processes({ 1: { cpuUs: 100 } }), () => false);
  increments.add(processes({}), () => false);
  assert.deepEqual([...increments.add(processes({ 1: { cpuUs: 101 } }), () => false)], [[1, 1]]);
});

it('two sample rows are merged with the highest memory and the mean of the CPU', () => {
  const row = (t: number, connections: number, layers: object) => ({ t, connections, ...layers }) as SampleRow;
  const older = row(1, 20, { worker: { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 10 }, nginx: { rssBytes: 7 } });
  const newer = row(2, 10, { worker: { rssBytes: 400, pssBytes: 300, cpuPercent: 30 }, redis: { rssBytes: 8 } });
  const worker = { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 20 };
  const rest = { nginx: { rssBytes: 7 }, redis: { rssBytes: 8 } };
  assert.deepEqual(mergeRows(older, newer), { t: 2, connections: 20, worker, ...rest });
  const first = row(0, 0, { worker: { rssBytes: 1, pssBytes: 900 } });
  assert.deepEqual(mergeRows(first, older).worker, { rssBytes: 500, pssBytes: 900, cpuPercent: 10 });
});

describe('the series of processes', () => {
  it('the series of processes has the memory of each process, and its CPU since the previous value', () => {
    const series = new ProcessSeries();
    const [one, two] = [{ rssBytes: 100, cpuUs: 5e6 }, { rssBytes: 50 }];
    series.add(0, [1, 2], processes({ 1: one, 2: two, 9: { rssBytes: 1 } }));
    series.add(2, [1, 2], processes({ 1: { rssBytes: 110, cpuUs: 6e6 } }));
    assert.deepEqual(series.read(), [
      { pid: 1, t: [0, 2], rssBytes: [100, 110], cpuPercent: [null, 50] },
      { pid: 2, t: [0], rssBytes: [50], cpuPercent: [null] },
    ]);
  });

  it('a thinned series of processes of a long run keeps the highest memory and the total CPU time', () => {
    const series = new ProcessSeries();
    for (let t = 0; t < 1000; t++)
      series.add(t, [1], processes({ 1: { rssBytes: t === 500 ? 9999 : 1, cpuUs: t * 250_000 } }));
    const [{ t, rssBytes, cpuPercent } = { t: [], rssBytes: [], cpuPercent: [] }] = series.read();
    assert.ok(t.length <= 201, `${t.length} rows`);
    assert.equal(Math.max(...rssBytes), 9999);
    assert.deepEqual([...new Set(cpuPercent)], [null, 25]);
  });
});

test('sample rows continue without a slow page of metrics, which is requested once and counts as failed', async (t) => {
  const time = new VirtualTime(t);
  let asked = 0;
  let answer = () => {};
  const page = {
    failures: 0,
    read: () => {
      asked++;
      return new Promise<{ figures: { rssBytes: number }; identity: string }>((resolve) => {
        answer = () => resolve({ figures: { rssBytes: 7 }, identity: 'a' });
      });
    },
  };
  const sampler = new Sampler({
    prometheus: { worker: page },
    pids: () => ({}),
    connections: () => 0,
  });
  t.after(async () => {
    answer();
    await sampler.close();
  });
  sampler.start();
  await time.pass(5500);
  const { missed, failures } = sampler.health();
  assert.ok(sampler.samples.length >= 3, `${sampler.samples.length} rows`);
  assert.equal(asked, 1);
  assert.equal(missed, 0);
  assert.ok((failures.prometheus ?? 0) >= 3, JSON.stringify(failures));
  assert.ok(sampler.samples.every(({ worker }) => worker?.rssBytes === undefined));
  answer();
  await time.pass(2000);
  assert.equal(sampler.samples.at(-1)?.worker?.rssBytes ?? sampler.samples.at(-2)?.worker?.rssBytes, 7);
});
