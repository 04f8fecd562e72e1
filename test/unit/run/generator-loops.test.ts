import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generatorFigures } from '../../../plugin/result/generators.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import type { EngineSnapshot } from '../../../plugin/run/link.ts';
import { noteGenerator, resetGenerator } from '../../../plugin/run/windows/generator-loops.ts';
import { assertEach } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';

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

async function noted(...rounds: EngineSnapshot[][]) {
  const measured = measurements();
  for (const snapshots of rounds) {
    const link = { snapshots: async () => snapshots } as RunContext['link'];
    const context = { ...new FakeRun().context, link, measurements: measured };
    await noteGenerator(context, 'ramp');
  }
  return generatorFigures(measured).map(({ part, index, engine: id, delayP99Ms }) => [part, index, id, delayP99Ms]);
}

test('fleets of several Artillery workers are rows of their own, though each counts its processes from 0', async () => {
  assert.deepEqual(await noted([engine('here', '1', 1, [2, 3]), engine('here', '2', 4, [5])]), [
    ['artillery', 0, '1', 1],
    ['fleet', 0, '1', 2],
    ['fleet', 1, '1', 3],
    ['artillery', 1, '2', 4],
    ['fleet', 2, '2', 5],
  ]);
});

test('so are those of two hosts whose Artillery workers have the same id', async () => {
  const rows = await noted([engine('here', '1', 1, [2]), engine('there', '1', 3, [4])]);
  assertEach(rows, ([part, index, , ms]) => `${part} ${index}: ${ms}`, [
    ...['artillery 0: 1', 'fleet 0: 2'],
    ...['artillery 1: 3', 'fleet 1: 4'],
  ]);
});

test('of several ramps the worst of each loop stays, whatever order the engines answer in', async () => {
  const rows = await noted(
    [engine('here', '1', 1, [9]), engine('here', '2', 1, [1])],
    [engine('here', '2', 1, [7]), engine('here', '1', 1, [2])],
  );
  assertEach(rows, ([part, , , ms]) => `${part}: ${ms}`, ['artillery: 1', 'fleet: 9', 'artillery: 1', 'fleet: 7']);
});

test('loops do not know what waited for a CPU where the kernel does not tell', async () => {
  const { context, measurements } = new FakeRun();
  context.link.snapshots = async () => [snapshot({ engineLoop: { ...loop(1), cpuWaitShare: null } })];
  await noteGenerator(context, 'ramp');
  await noteGenerator(context, 'ramp');
  assert.equal(measurements.generator[0]?.cpuWaitShare, null);
});

test('loops begin again with a reading that nobody keeps; external engines are not asked', async () => {
  const run = new FakeRun();
  await resetGenerator(run.context);
  assert.deepEqual([run.asked, run.measurements.generator], [['snapshots'], []]);
  run.context.ledger = false;
  await resetGenerator(run.context);
  await noteGenerator(run.context, 'ramp');
  assert.deepEqual([run.asked, run.measurements.generator], [['snapshots'], []]);
});
