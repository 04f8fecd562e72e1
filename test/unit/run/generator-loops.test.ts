import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noteGenerator, resetGenerator } from '../../../plugin/run/generator-loops.ts';
import type { EventLoopHealth, FleetSnapshot } from '../../../protocol/link.ts';
import { snapshot } from '../../helpers/facts.ts';
import { FakeRun } from '../../helpers/fake-run.ts';

const CALM: EventLoopHealth = { utilization: 0.1, delayP50Ms: 1, delayP99Ms: 2, delayMaxMs: 3, cpuWaitShare: 0.1 };
const BUSY: EventLoopHealth = { utilization: 0.9, delayP50Ms: 4, delayP99Ms: 5, delayMaxMs: 6, cpuWaitShare: 0.4 };

/** An engine, and its fleet's processes. */
function engine(engineLoop: EventLoopHealth, ...loops: EventLoopHealth[]): FleetSnapshot {
  const processes = loops.map((eventLoop, index) => ({
    pid: index + 1,
    index,
    alive: true,
    connections: 0,
    rssBytes: 0,
    cpuUs: 0,
    eventLoop,
  }));
  return snapshot({ engineLoop, processes });
}

function runWith(...snapshots: FleetSnapshot[]): FakeRun {
  const run = new FakeRun();
  run.context.link.snapshots = async () => snapshots;
  return run;
}

describe("the generator's loops", () => {
  it('are those of its threads and its living processes', async () => {
    const halfDead = engine(CALM, BUSY, CALM);
    for (const process of halfDead.processes) process.alive = process.index === 1;
    const { context, facts } = runWith(halfDead, engine(BUSY));
    await noteGenerator(context, 'ramp');
    assert.deepEqual(facts.generator, [
      { window: 'ramp', part: 'artillery', index: 0, ...CALM },
      { window: 'ramp', part: 'fleet', index: 1, ...CALM },
      { window: 'ramp', part: 'artillery', index: 1, ...BUSY },
    ]);
  });

  it('keep the worst of several ramps, each figure by itself, and the broadcasts apart', async () => {
    const first = { ...CALM, delayMaxMs: 50 };
    const { context, facts } = runWith(engine(first, CALM));
    await noteGenerator(context, 'ramp');
    context.link.snapshots = async () => [engine(BUSY, CALM)];
    await noteGenerator(context, 'ramp');
    context.link.snapshots = async () => [engine(CALM)];
    await noteGenerator(context, 'ramp');
    await noteGenerator(context, 'broadcasts');
    assert.deepEqual(facts.generator, [
      { window: 'ramp', part: 'artillery', index: 0, ...BUSY, delayMaxMs: 50 },
      { window: 'ramp', part: 'fleet', index: 0, ...CALM },
      { window: 'broadcasts', part: 'artillery', index: 0, ...CALM },
    ]);
  });

  it('do not know what waited for a CPU where the kernel does not tell', async () => {
    const unknown = { ...CALM, cpuWaitShare: null };
    const { context, facts } = runWith(engine(unknown));
    await noteGenerator(context, 'ramp');
    await noteGenerator(context, 'ramp');
    assert.equal(facts.generator[0]?.cpuWaitShare, null);
  });

  it('begin again with a reading that nobody keeps', async () => {
    const run = new FakeRun();
    await resetGenerator(run.context);
    assert.deepEqual([run.asked, run.facts.generator], [['snapshots'], []]);
  });

  it('of external engines are not known, and not asked for', async () => {
    const run = new FakeRun();
    run.context.ledger = false;
    await resetGenerator(run.context);
    await noteGenerator(run.context, 'ramp');
    assert.deepEqual([run.asked, run.facts.generator], [[], []]);
  });
});
