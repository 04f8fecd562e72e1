import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { RunStage } from '../../../plugin/run/stage.ts';
import { absencesOfReadings } from '../../../plugin/samplers/index.ts';
import { resultSchema } from '../../../protocol/result/result.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { ConductedRun, fromTheStart, PAUSE, RAMP } from '../../helpers/conducted-run.ts';
import { readingsOf } from '../../helpers/readings.ts';

describe('a whole run', () => {
  it('a run goes through its stages in order, and counts workers and connections before it releases them', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, conductor } = conducted;
    const reported: RunStage[] = [];
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
    assert.ok(!run.asked.some((one) => /^messages|batches/.test(one)), 'connections send none');
    const times = column(run.measurements.stages, 't');
    const inOrder = times?.toSorted((a, b) => a - b);
    assert.deepEqual(times, inOrder);
    const { workersAtStart, workersAtEnd, snapshots, peakConnections } = run.measurements;
    const workers = { worker: ['w0', 'w1'], pid: [100, 101], instance: ['w0', 'w1'] };
    for (const all of [workersAtStart, workersAtEnd]) {
      assert.deepEqual(columns(all, 'worker', 'pid', 'instance'), workers);
    }
    assert.deepEqual([snapshots[0]?.connected, peakConnections, run.status.connected], [20, 20, 0]);
    assert.equal(conductor.released, true);
  });

  it('a run measures client messages in the hold, and stops them after the broadcasts', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.measurements.messages = { steps: [], seconds: 0, unanswered: [], skippedByServer: [], workers: [] };
    await conducted.whole();
    const { asked, measurements } = run;
    assert.deepEqual([measurements.cpu.messages.length, measurements.cpu.idle.length], [10, 10]);
    const last = (what: string) => asked.lastIndexOf(what);
    const order = ['messages measure', 'messages rest', 'freeze 1,2,3', 'messages stop', 'tell release'];
    const found = order.toSorted((a, b) => last(a) - last(b));
    assert.deepEqual(found, order);
    assert.ok(asked.slice(last('messages stop')).includes('snapshots'), 'counted after the end');
  });

  it('keeps forced collections, inspectors and profiles out of windows whose CPU is measured', async (t) => {
    const stageOf: [asked: string, stage: RunStage][] = [];
    const { run } = await fromTheStart(t, {}, (run, { conductor }) => {
      const note = (asked: string) => void stageOf.push([asked, conductor.stage]);
      const { context } = run;
      const { gc } = context.control;
      const collector = { stats: () => context.control.stats(), gc: () => gc().finally(() => note('collection')) };
      const profiler = {
        startProfiles: async (kind: string) => note(`start ${kind}`),
        takeProfiles: async () => [note('take')].slice(1),
      };
      Object.assign(context, { collector, profiler });
      context.config.hold = 0.1;
    });
    assert.equal(run.measurements.stages.at(-2)?.name, 'profile');
    const outside = ['warm-up', 'baseline', 'plateau', 'disconnect', 'end of the run', 'profile', 'drain'];
    const inside = stageOf.filter(([, stage]) => !outside.includes(stage));
    assert.deepEqual(inside, []);
    const kinds = stageOf.filter(([asked]) => asked !== 'collection').map(([asked]) => asked);
    assert.deepEqual(kinds.slice(0, 3), ['start heap', 'take', 'start cpu']);
    assert.ok(run.asked.indexOf('sampler ends') > run.asked.indexOf('tell release'), 'rows are those of the load');
  });

  it('reads memory without connections, in each pause, after broadcasts and after the disconnect', async (t) => {
    let garbage = 0;
    const { run } = await fromTheStart(t, {}, (run, { conductor }) => {
      const { control, sampler } = run.context;
      const { reading } = sampler;
      conductor.onStage = () => (garbage = 500);
      control.gc = async () => {
        run.collect();
        garbage = 0;
      };
      sampler.reading = async () => ({
        ...(await reading()),
        ...readingsOf({ workerPss: run.status.connected * 1000 + garbage }),
      });
    });
    const { plateaus, lastReadings, ...measured } = run.measurements;
    const expected = [0, 10, 20].map((connections) => {
      const layers = { workerPss: connections * 1000 };
      return {
        connections,
        layers,
        readings: [layers, layers, layers],
        inService: { workerPss: layers.workerPss + 500 },
      };
    });
    assert.deepEqual(plateaus, expected);
    assert.deepEqual(measured.afterBroadcasts, { workerPss: 20_000 });
    assert.deepEqual(measured.inServiceAfterBroadcasts, { workerPss: 20_500 });
    assert.deepEqual(measured.afterDisconnect, { workerPss: 0 });
    assert.deepEqual(Object.keys(absencesOfReadings(lastReadings)), ['nginxPss']);
  });
});

it('the sums in the result of a complete run agree', async (t) => {
  const conducted = new ConductedRun(t);
  await conducted.whole();
  const { result } = conducted;
  assert.deepEqual([result.verdict.status, result.findings], ['VALID', []]);
  assert.equal(result.run.complete, true);
  assert.deepEqual(result, resultSchema.parse(result));
  const { broadcasts, expected, received, coverage } = result.delivery ?? {};
  assert.deepEqual([broadcasts, expected, received, coverage], [3, 60, 60, 1]);
  assert.equal(Math.round(result.memory.perConnectionBytes.workerPss?.slope ?? 0), 1000);
  assert.deepEqual(result.memory.residualBytes, { workerPss: 0 });
  assert.equal(Math.round(result.cpu.worker?.idlePercent ?? 0), 10);
  assert.equal(conducted.run.measurements.cpu.unloaded.length, 10);
});

describe('phases', () => {
  it('takes no memory plateau in a pause before the first arrivals', async (t) => {
    const conducted = new ConductedRun(t, {}, [PAUSE, RAMP, PAUSE]);
    await conducted.prepare();
    await conducted.phase(0);
    const { stages } = conducted;
    await conducted.phase(3);
    assert.deepEqual(conducted.stages, stages);
    assert.equal(conducted.run.measurements.plateaus.length, 1, 'the baseline');
  });

  /** Runs until `arrived` of the ten virtual users in the first ramp have connected. */
  const ramped = async (t: TestContext, arrived: number) => {
    const conducted = new ConductedRun(t);
    await conducted.prepare();
    await conducted.phase(0);
    conducted.run.arrive(arrived);
    return conducted;
  };

  it('takes the memory plateau of a pause when all clients have connected and joined', async (t) => {
    const conducted = await ramped(t, 10);
    const { time, run } = conducted;
    run.status.joining = 3;
    setTimeout(() => Object.assign(run.status, { joining: 0 }), 5000);
    const [beganMs, asked] = [time.nowMs, run.asked.length];
    await conducted.phase(1);
    assert.ok(time.nowMs - beganMs >= 5000);
    assert.deepEqual(run.codes, []);
    assert.deepEqual(run.asked.slice(asked), ['snapshots', 'gc', 'gc', 'gc'], 'the ramp ends, then memory is read');
  });

  it('warns of clients that do not connect in time, and takes the memory plateau without them', async (t) => {
    const conducted = await ramped(t, 9);
    const { time, run } = conducted;
    const beganMs = time.nowMs;
    await conducted.phase(1);
    assert.ok(time.nowMs - beganMs >= 30_000);
    assert.deepEqual(run.codes, ['TARGET_NOT_REACHED']);
    assert.deepEqual(column(run.measurements.plateaus, 'connections'), [0, 9]);
  });

  it('takes no memory plateau if connections open or close while memory is read', async (t) => {
    const conducted = await ramped(t, 10);
    const { run } = conducted;
    run.context.control.gc = async () => {
      run.collect();
      run.leave(1);
    };
    await conducted.phase(1);
    assert.deepEqual(run.codes, ['PLATEAUS_UNUSABLE']);
    assert.equal(run.measurements.plateaus.length, 1, 'the baseline');
  });

  it('the CPU window of each ramp excludes pauses, and counts the connections opened in the ramp', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP, RAMP, PAUSE, RAMP, PAUSE]);
    await conducted.whole();
    const { ramps, cpu } = conducted.run.measurements;
    assert.deepEqual(columns(ramps, 'seconds', 'connections'), { seconds: [4, 2], connections: [20, 10] });
    assertEach(ramps, ({ beganAtUs, endedAtUs }) => Math.round((endedAtUs - beganAtUs) / 1e6), [4, 2]);
    assertEach(cpu.ramps, ({ seconds, units }) => [Math.round(seconds), units], [
      [4, 20],
      [2, 10],
    ]);
    for (const { seconds, cpuUs } of cpu.ramps) {
      assert.equal(Math.round(cpuUs.worker ?? 0), Math.round(seconds * 1e5), 'a tenth of a core all the time');
    }
  });

  it('each phase counts the connections that its ramp added, and keeps the highest peak', async (t) => {
    const conducted = await ramped(t, 10);
    const { run } = conducted;
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

it('from the first phase with `maxVusers` on, the run accepts arrivals that Artillery skips', async (t) => {
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
  assert.deepEqual(mayBeSkipped, [false, true, true, true]);
});
