import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { overTimeFigures } from '../../../plugin/result/memory/drift.ts';
import type { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import { Conductor } from '../../../plugin/run/conductor.ts';
import { measureChurn, newOverTime } from '../../../plugin/run/memory/measure-over-time.ts';
import { Sampler } from '../../../plugin/samplers/index.ts';
import { CLIENT_DISCONNECT_REASON } from '../../../protocol/wire/connection.ts';
import { assertEach, columns } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { readingsOf } from '../../helpers/readings.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const RAMP = { duration: 2, arrivalRate: 50 };
const WAVE = [RAMP, { pause: 20 }];
const COMES_AND_GOES = { scenarios: [{ engine: 'socketio-capacity', flow: [{ think: 5 }] }] };

/** Plays a run in which each connection leaks `leakBytes`. Another 3 MB remain after the first wave. */
async function conducted(t: TestContext, overTime: object, phases: object[], leakBytes = 20_000) {
  const time = new VirtualTime(t);
  const run = new FakeRun({ warmUp: 0, singleRoundTrips: 0, overTime }, { phases }, COMES_AND_GOES);
  const { sampler, control, config } = run.context;
  let garbage = 0;
  sampler.reading = async () => {
    const cost = run.status.connected * 8000 + run.left * leakBytes + (run.status.started > 0 ? 3e6 : 0);
    return readingsOf({ workerHeapUsed: 20e6 + cost + garbage });
  };
  control.gc = async () => {
    run.asked.push('gc');
    run.collect();
    garbage = 0;
  };
  const conductor = new Conductor(run.context);
  const phase = async (index: number, arrive = () => {}) => {
    const { pause, duration = 0 } = config.phases[index] ?? {};
    const began = time.nowMs;
    const handled = conductor.phaseStarted(index);
    arrive();
    await time.until(handled);
    await time.pass(began + (pause ?? duration) * 1000 - time.nowMs);
  };
  const wave = async (index: number, connections: number) => {
    garbage += connections * 10_000;
    await phase(2 * index, () => run.arrive(connections));
    setTimeout(() => run.leave(connections), 5000);
    await phase(2 * index + 1);
  };
  await time.until(conductor.prepare());
  return { time, run, conductor, phase, wave };
}

describe('waves', () => {
  it('memory of waves is read at their peak and after the disconnect, and fitted from the second wave on', async (t) => {
    const { time, run, conductor, wave } = await conducted(t, {}, [...WAVE, ...WAVE, ...WAVE, ...WAVE]);
    for (let index = 0; index < 4; index++) await wave(index, 100);
    await time.until(conductor.finale());
    assert.deepEqual(run.codes, []);
    const found = overTimeFigures(run.measurements);
    assert.deepEqual(columns(found?.peaks, 'connections', 'gone'), {
      connections: [100, 100, 100, 100],
      gone: [0, 100, 200, 300],
    });
    assert.deepEqual(columns(found?.readings, 'connections', 'gone'), {
      connections: [0, 0, 0, 0],
      gone: [100, 200, 300, 400],
    });
    assert.equal(found?.warmUpReadings, 0, 'the baseline is none of them');
    const { workerHeapUsed: drift } = found?.drift ?? {};
    const slopes = [drift?.bytesPerConnection, drift?.bytesPerWave].map((bytes) => Math.round(bytes ?? 0));
    assert.deepEqual([...slopes, drift?.leaks], [20_000, 2_000_000, true]);
    assert.deepEqual(run.measurements.stages.map(({ name }) => name).slice(1, 4), ['ramp', 'wave', 'after the wave']);
  });

  it('memory after waves includes garbage if `collect` is off', async (t) => {
    const { run, wave } = await conducted(t, { collect: false }, [...WAVE, ...WAVE], 0);
    const before = run.asked.length;
    for (const index of [0, 1]) await wave(index, 100);
    assert.ok(!run.asked.slice(before).includes('gc'));
    const found = overTimeFigures(run.measurements);
    assert.equal(found?.collected, false);
    assertEach(found?.readings, ({ bytes }) => bytes.workerHeapUsed, [24e6, 25e6]);
  });

  it('a wave without connections at its peak has no memory reading', async (t) => {
    const { run, phase } = await conducted(t, {}, WAVE);
    await phase(0, () => {
      run.arrive(100);
      run.leave(100);
    });
    await phase(1);
    assert.deepEqual(run.codes, ['PLATEAUS_UNUSABLE']);
  });

  for (const [what, leave] of [
    ['stay open until the next wave', () => {}],
    [
      'arrive while memory is read',
      (run: FakeRun) => {
        setTimeout(() => run.leave(100), 5000);
        setTimeout(() => run.arrive(1), 5500);
      },
    ],
  ] as const) {
    it(`the run reads no memory of waves whose connections ${what}, and warns`, async (t) => {
      const { run, phase } = await conducted(t, {}, WAVE);
      await phase(0, () => run.arrive(100));
      leave(run);
      await phase(1);
      assert.ok(run.codes.includes('PLATEAUS_UNUSABLE'), run.codes.join());
      assert.deepEqual(overTimeFigures(run.measurements)?.readings, []);
    });
  }
});

describe('short-lived connections', () => {
  it('a run with short-lived connections reads memory at its interval, after the first have disconnected', async (t) => {
    const { run, phase } = await conducted(t, { every: 10 }, [{ duration: 120, arrivalRate: 10 }]);
    setInterval(() => run.arrive(10), 1000);
    setTimeout(() => setInterval(() => run.leave(10), 1000), 25_000);
    await phase(0);
    const found = overTimeFigures(run.measurements);
    assert.equal(found?.kind, 'churn');
    assert.equal(found?.readings.length, 11);
    assert.ok([4, 5].includes(found?.warmUpReadings ?? 0), `${found?.warmUpReadings}`);
    const { workerHeapUsed: drift } = found?.drift ?? {};
    assert.ok(drift?.leaks);
    assert.ok((drift?.low95 ?? 0) <= 20_000 && (drift?.high95 ?? 0) >= 20_000, JSON.stringify(drift));
    assert.equal(drift?.bytesPerWave, null);
    assert.deepEqual(run.measurements.cpu.ramps, [], 'no CPU per connect while others leave');
  });
});

it('a run that lasts half a day keeps few memory readings, and still finds a leak', async (t) => {
  const time = new VirtualTime(t, 1000);
  const run = new FakeRun();
  run.arrive(500);
  run.context.sampler.reading = async () => {
    // Ten connections open and close each second.
    const left = Math.round(time.nowMs / 100);
    run.status.ended = { [CLIENT_DISCONNECT_REASON]: left };
    return readingsOf({ workerHeapUsed: 20e6 + left * 200 });
  };
  const everySeconds = 20;
  const seconds = 12 * 3600;
  const measured = newOverTime({ collect: false, every: everySeconds }, true);
  const checkpoints = { checkDeployment: async () => {} } as unknown as Checkpoints;
  await time.until(measureChurn(run.context, checkpoints, measured, { seconds, everySeconds }, () => {}));
  const found = overTimeFigures({ overTime: measured, uncollected: [] });
  assert.equal(measured.readings.added, seconds / everySeconds - 1);
  const { workerHeapUsed: drift } = found?.drift ?? {};
  assert.ok(Math.abs((drift?.bytesPerConnection ?? 0) - 200) < 1 && drift?.leaks, JSON.stringify(drift));
  assert.ok(run.measurements.generator.length < 5, 'the worst of each loop');
});

it('the time series of a run that lasts for hours has few rows', async (t) => {
  const time = new VirtualTime(t, 1000);
  const sampler = new Sampler({ pids: () => ({}), connections: () => Math.round(time.nowMs), layers: [] });
  sampler.start();
  await time.pass(4 * 3600 * 1000);
  await time.until(sampler.close());
  const { samples } = sampler;
  assert.ok(samples.length < 3600, `${samples.length} rows`);
  const { taken, missed } = sampler.health();
  assert.equal(taken + missed, 4 * 3600 + 1);
  assert.ok(missed < 10, `${missed} missed`);
  assert.equal(samples.at(-1)?.t, 4 * 3600);
});
