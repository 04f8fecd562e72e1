import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assembleResult } from '../../../plugin/result/assemble.ts';
import type { Stage } from '../../../plugin/run/stage.ts';
import { resultSchema } from '../../../protocol/result/result.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { ConductedRun, PAUSE, RAMP } from '../../helpers/conducted-run.ts';
import { perfectResult } from '../../helpers/results.ts';

describe('a whole run', () => {
  it('goes through its stages in order, and reports each', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, conductor } = conducted;
    const reported: Stage[] = [];
    conductor.onStage = () => reported.push(conductor.stage);
    assert.equal(conductor.stage, 'warm-up');
    await conducted.whole();
    assert.deepEqual(conducted.stages, [
      'baseline',
      ...['ramp', 'plateau', 'ramp', 'plateau'],
      ...['hold', 'broadcasts', 'drain', 'disconnect', 'end of the run', 'done'],
    ]);
    assert.deepEqual(reported, conducted.stages);
    assert.deepEqual(run.codes, []);
    const times = run.measurements.stages.map(({ t }) => t);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
  });

  it('measures messages in the hold, lets them go on through the broadcasts, and ends them before it counts', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.measurements.messages = { steps: [], seconds: 0, unanswered: [], workers: [] };
    await conducted.whole();
    const { asked, measurements } = run;
    assert.deepEqual([measurements.cpu.messages.length, measurements.cpu.idle.length], [10, 0]);
    const last = (what: string) => asked.lastIndexOf(what);
    const order = ['messages measure', 'messages rest', 'freeze 1,2,3', 'messages stop', 'tell release'];
    assert.deepEqual(
      order.toSorted((a, b) => last(a) - last(b)),
      order,
    );
    assert.ok(asked.slice(last('messages stop')).includes('snapshots'), 'counted after the end');
  });

  it('asks nobody for messages where connections send none', async (t) => {
    const conducted = new ConductedRun(t);
    await conducted.whole();
    assert.ok(!conducted.run.asked.some((one) => one.startsWith('messages') || one === 'batches'));
  });

  it('reads memory at zero, in each pause, after the broadcasts and when all have left', async (t) => {
    const conducted = new ConductedRun(t);
    await conducted.whole();
    const { measurements, recorded } = conducted.run;
    const plateaus = measurements.plateaus.map(({ readings, ...plateau }) => {
      assert.deepEqual(
        readings,
        Array.from({ length: 3 }, () => plateau.layers),
      );
      return plateau;
    });
    assert.deepEqual(plateaus, [
      { connections: 0, layers: { workerPss: 1_000_000 }, inService: { workerPss: 1_000_000 } },
      { connections: 10, layers: { workerPss: 1_010_000 }, inService: { workerPss: 1_010_000 } },
      { connections: 20, layers: { workerPss: 1_020_000 }, inService: { workerPss: 1_020_000 } },
    ]);
    assert.deepEqual(measurements.afterBroadcasts, { workerPss: 1_020_000 });
    assert.deepEqual(measurements.afterDisconnect, { workerPss: 1_000_000 });
    assert.deepEqual(Object.keys(measurements.absentLayers), ['nginxPss']);
    assert.deepEqual(
      recorded.filter((type) => /plateau|after/.test(type)),
      ['plateau', 'plateau', 'plateau', 'after-broadcasts', 'after-disconnect'],
    );
  });

  it('reads memory in service before each collection that it orders', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    const { control, sampler } = run.context;
    let garbage = 500;
    control.gc = async () => {
      run.collect();
      garbage = 0;
    };
    sampler.reading = async () => ({ workerPss: run.status.connected * 1000 + garbage });
    conducted.conductor.onStage = () => {
      garbage = 500;
    };
    await conducted.whole();
    const { plateaus, afterBroadcasts, inServiceAfterBroadcasts } = run.measurements;
    assertEach(plateaus, ({ layers, inService }) => [layers.workerPss, inService?.workerPss], [
      [0, 500],
      [10_000, 10_500],
      [20_000, 20_500],
    ]);
    assert.deepEqual([afterBroadcasts, inServiceAfterBroadcasts], [{ workerPss: 20_000 }, { workerPss: 20_500 }]);
  });

  it('notes the workers at its start and end, and counts connections before it releases them', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, conductor } = conducted;
    await conducted.whole();
    const { workersAtStart, workersAtEnd, snapshots, peakConnections } = run.measurements;
    const workers = [
      { worker: 'w0', pid: 100, instance: 'w0' },
      { worker: 'w1', pid: 101, instance: 'w1' },
    ];
    assert.deepEqual([workersAtStart, workersAtEnd], [workers, workers]);
    assert.equal(snapshots[0]?.connected, 20);
    assert.equal(peakConnections, 20);
    assert.equal(conductor.released, true);
    assert.equal(run.status.connected, 0);
  });
});

it('makes a result in which everything foots', async (t) => {
  const conducted = new ConductedRun(t);
  await conducted.whole();
  const { measurements, context } = conducted.run;
  const result = assembleResult(measurements, context.config, perfectResult().environment, context.sampler);
  assert.deepEqual(result.verdict, { status: 'VALID', reasons: [] });
  assert.equal(result.run.complete, true);
  assert.deepEqual(result, resultSchema.parse(result));
  const { broadcasts, expected, received, coverage } = result.delivery ?? {};
  assert.deepEqual([broadcasts, expected, received, coverage], [3, 60, 60, 1]);
  assert.equal(Math.round(result.memory.perConnectionBytes.workerPss?.slope ?? 0), 1000);
  assert.deepEqual(result.memory.residualBytes, { workerPss: 0 });
  assert.equal(Math.round(result.cpu.worker?.idlePercent ?? 0), 10);
  assert.equal(measurements.cpu.unloaded.length, 10);
});

describe('phases', () => {
  it('take no plateau in a pause before any arrivals', async (t) => {
    const conducted = new ConductedRun(t, {}, [PAUSE, RAMP, PAUSE]);
    await conducted.prepare();
    await conducted.phase(0);
    assert.equal(conducted.run.measurements.plateaus.length, 1, 'the baseline');
  });

  it('that the scenario does not have change nothing', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP]);
    await conducted.prepare();
    await conducted.phase(1);
    assert.deepEqual(conducted.stages, ['baseline']);
  });

  it("count the generator's loops from the first ramp on", async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP, RAMP, PAUSE]);
    const { asked } = conducted.run;
    await conducted.prepare();
    const before = asked.length;
    await conducted.phase(0);
    assert.deepEqual(asked.slice(before), ['snapshots']);
    await conducted.phase(1);
    assert.deepEqual(asked.slice(before), ['snapshots'], 'the second one goes on with it');
  });

  it('take the plateau of a pause when all have connected and joined', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(10);
    run.status.joining = 3;
    setTimeout(() => Object.assign(run.status, { joining: 0 }), 5000);
    const [beganMs, asked] = [time.nowMs, run.asked.length];
    await conducted.phase(1);
    assert.ok(time.nowMs - beganMs >= 5000);
    assert.deepEqual(run.codes, []);
    assert.deepEqual(run.asked.slice(asked), ['snapshots', 'gc', 'gc', 'gc'], 'the ramp ends, then memory is read');
  });

  it('warn of arrivals that do not settle in time, and take a plateau of those that did', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(9);
    const beganMs = time.nowMs;
    await conducted.phase(1);
    assert.ok(time.nowMs - beganMs >= 30_000);
    assert.deepEqual(run.codes, ['TARGET_NOT_REACHED']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /some of 10 /);
    assert.deepEqual(column(run.measurements.plateaus, 'connections'), [0, 9]);
  });

  it('take no plateau where connections change while memory is read', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(10);
    run.context.control.gc = async () => {
      run.collect();
      run.leave(1);
    };
    await conducted.phase(1);
    assert.deepEqual(run.codes, ['PLATEAU_MOVED']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /from 10 to 9/);
    assert.equal(run.measurements.plateaus.length, 1, 'the baseline');
    assert.deepEqual(run.recorded.slice(-1), ['warning']);
  });

  it('are a window of CPU each, without the pauses; its units are the connections made', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP, RAMP, PAUSE, RAMP, PAUSE]);
    await conducted.whole();
    const { ramps } = conducted.run.measurements.cpu;
    assertEach(ramps, ({ seconds, units }) => [Math.round(seconds), units], [
      [4, 20],
      [2, 10],
    ]);
    for (const { seconds, cpuUs } of ramps) {
      assert.equal(Math.round(cpuUs.worker ?? 0), Math.round(seconds * 1e5), 'a tenth of a core all the time');
    }
  });

  it('note when each ramp began and ended, and what its phases ask for', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP, RAMP, PAUSE, RAMP, PAUSE]);
    await conducted.whole();
    const { ramps } = conducted.run.measurements;
    assert.deepEqual(columns(ramps, 'seconds', 'connections'), { seconds: [4, 2], connections: [20, 10] });
    assertEach(ramps, ({ beganAtUs, endedAtUs }) => Math.round((endedAtUs - beganAtUs) / 1e6), [4, 2]);
  });

  it('count what each ramp added to the connections before it, and keep the highest peak', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(10);
    await conducted.phase(1);
    run.leave(7);
    run.status.failed = 7;
    await conducted.phase(2);
    run.arrive(4);
    run.status.failed = 13;
    run.status.started = 20;
    await conducted.phase(3);
    assert.deepEqual(run.codes, []);
    assert.deepEqual(column(run.measurements.cpu.ramps, 'units'), [10, 4]);
    assert.equal(run.measurements.peakConnections, 10);
  });
});

it('waits for users that may be skipped from the first phase with `maxVusers` on', async (t) => {
  const bounded = { ...RAMP, maxVusers: 100 };
  const conducted = new ConductedRun(t, {}, [RAMP, PAUSE, bounded, PAUSE, RAMP, PAUSE]);
  const { population } = conducted.run.context;
  const mayBeSkipped: boolean[] = [];
  const settled = population.settled.bind(population);
  population.settled = (arrivals, ...rest) => {
    mayBeSkipped.push(arrivals.mayBeSkipped);
    return settled(arrivals, ...rest);
  };
  await conducted.whole();
  // The last one is that of the finale.
  assert.deepEqual(mayBeSkipped, [false, true, true, true]);
});
