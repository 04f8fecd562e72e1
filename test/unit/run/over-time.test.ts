import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { overTimeFigures } from '../../../plugin/result/memory/over-time.ts';
import { Conductor } from '../../../plugin/run/conductor.ts';
import { assertEach, columns } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const RAMP = { duration: 2, arrivalRate: 50 };
const WAVE = [RAMP, { pause: 20 }];
const COMES_AND_GOES = { scenarios: [{ engine: 'socketio-capacity', flow: [{ think: 5 }] }] };

/** @param leakBytes that each connection leaves behind; another 3 MB come with the first wave, and stay */
function conducted(t: TestContext, overTime: object, phases: object[], leakBytes = 20_000) {
  const time = new VirtualTime(t);
  const run = new FakeRun({ warmUp: 0, singleRoundTrips: 0, overTime }, { phases }, COMES_AND_GOES);
  let garbage = 0;
  run.context.sampler.reading = async () => ({
    workerHeapUsed:
      20e6 + run.status.connected * 8000 + run.left * leakBytes + (run.status.started > 0 ? 3e6 : 0) + garbage,
  });
  run.context.control.gc = async () => {
    run.asked.push('gc');
    run.collect();
    garbage = 0;
  };
  const conductor = new Conductor(run.context);
  const phase = async (index: number, arrive: () => void) => {
    const { pause, duration = 0 } = run.context.config.phases[index] ?? {};
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
    await phase(2 * index + 1, () => {});
  };
  return { time, run, conductor, phase, wave };
}

describe('waves', () => {
  it('are read at their peak, and when all have left; the line begins after the first', async (t) => {
    const { time, run, conductor, wave } = conducted(t, {}, [...WAVE, ...WAVE, ...WAVE, ...WAVE]);
    await time.until(conductor.prepare());
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
    assert.equal(run.recorded.filter((type) => type === 'after-wave').length, 4);
  });

  it('are read with their garbage if nobody is to collect it', async (t) => {
    const { time, run, conductor, wave } = conducted(t, { collect: false }, [...WAVE, ...WAVE], 0);
    await time.until(conductor.prepare());
    const { length } = run.asked;
    await wave(0, 100);
    await wave(1, 100);
    assert.ok(!run.asked.slice(length).includes('gc'));
    const found = overTimeFigures(run.measurements);
    assert.equal(found?.collected, false);
    assertEach(found?.readings, ({ bytes }) => bytes.workerHeapUsed, [24e6, 25e6]);
  });

  it('that do not leave before the next one have no reading, and a warning', async (t) => {
    const { time, run, conductor, phase } = conducted(t, {}, WAVE);
    await time.until(conductor.prepare());
    await phase(0, () => run.arrive(100));
    await phase(1, () => {});
    assert.deepEqual(run.codes, ['PLATEAU_MOVED']);
    assert.deepEqual(overTimeFigures(run.measurements)?.readings, []);
  });

  it('that come while memory is read spoil the reading', async (t) => {
    const { time, run, conductor, phase } = conducted(t, {}, WAVE);
    await time.until(conductor.prepare());
    await phase(0, () => run.arrive(100));
    setTimeout(() => run.leave(100), 5000);
    setTimeout(() => run.arrive(1), 5500);
    await phase(1, () => {});
    assert.ok(run.codes.includes('PLATEAU_MOVED'), run.codes.join());
    assert.deepEqual(overTimeFigures(run.measurements)?.readings, []);
  });
});

describe('churn', () => {
  it('is read at its interval, and its line begins when the first generation has left', async (t) => {
    const { time, run, conductor, phase } = conducted(t, { every: 10 }, [{ duration: 120, arrivalRate: 10 }]);
    await time.until(conductor.prepare());
    setInterval(() => run.arrive(10), 1000);
    setTimeout(() => setInterval(() => run.leave(10), 1000), 25_000);
    await phase(0, () => {});
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
