/** What the conductor does after the last phase: hold, broadcasts, disconnect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { ConductedRun, PAUSE, RAMP } from '../../helpers/conducted-run.ts';

describe('the finale', () => {
  it('without idle time and broadcasts goes from the last plateau to the disconnect', async (t) => {
    const conducted = new ConductedRun(t, { hold: 0, broadcasts: { count: 0 } }, [RAMP, PAUSE]);
    await conducted.whole();
    const { measurements } = conducted.run;
    assert.deepEqual(conducted.stages.slice(2), ['plateau', 'disconnect', 'end of the run', 'done']);
    assert.deepEqual(
      [measurements.cpu.idle, measurements.cpu.broadcasts, measurements.afterBroadcasts],
      [[], [], undefined],
    );
    assert.deepEqual([measurements.sent, measurements.frozen], [[], []]);
  });

  it('measures the CPU of connections that only wait for as long as `hold`', async (t) => {
    const conducted = new ConductedRun(t);
    await conducted.whole();
    const { idle } = conducted.run.measurements.cpu;
    assert.equal(idle.length, 10);
    for (const { seconds, units, cpuUs } of idle) {
      assert.deepEqual([Math.round(seconds * 10) / 10, units], [0.4, 0]);
      assert.equal(Math.round((cpuUs.worker ?? 0) / seconds), 100_000);
    }
  });

  for (const [hold, pingInterval, seconds] of [
    [4, ['1500', '1500'], 3],
    [4, ['2000', '2000'], 4],
    [4, ['5000', '5000'], 4],
    [4, ['1500', '3000'], 4],
  ] as const)
    it(`measures ${seconds} s of a hold of ${hold} s, if workers ping every ${pingInterval.join(' and ')} ms`, async (t) => {
      const conducted = new ConductedRun(t, { hold });
      const { control } = conducted.run.context;
      const { stats } = control;
      control.stats = async () =>
        (await stats()).map((worker, index) => ({
          ...worker,
          server: { kind: 'own', tunings: {}, options: { pingInterval: pingInterval[index] ?? '' } },
        }));
      await conducted.whole();
      const { measurements } = conducted.run;
      assert.equal(Math.round(measurements.cpu.idle.reduce((sum, part) => sum + part.seconds, 0) * 10) / 10, seconds);
      const [held, after] = ['hold', 'broadcasts'].map((stage) =>
        measurements.stages.find(({ name }) => name === stage),
      );
      assert.ok(Math.round(((after?.t ?? 0) - (held?.t ?? 0)) * 100) / 100 >= hold);
    });

  it('releases nobody where virtual users do not hold', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, conductor } = conducted;
    run.context.holds = false;
    await conducted.whole();
    assert.deepEqual(conducted.stages.slice(-3), ['drain', 'end of the run', 'done']);
    assert.ok(!run.asked.includes('tell release'));
    assert.equal(conductor.released, false);
    assert.equal(run.measurements.afterDisconnect, undefined);
  });

  it('ends the last ramp and takes a plateau where no pause follows it', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP]);
    await conducted.whole();
    const { plateaus, cpu } = conducted.run.measurements;
    assert.deepEqual(column(plateaus, 'connections'), [0, 10]);
    assert.deepEqual(column(cpu.ramps, 'units'), [10]);
  });

  it('knows no residual while connections stay', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    run.context.link.tell = () => run.leave(17);
    await conducted.prepare();
    await conducted.arriveAll();
    const beganMs = time.nowMs;
    await conducted.finale();
    assert.ok(time.nowMs - beganMs >= 120_000);
    assert.deepEqual(run.codes, ['PLATEAU_MOVED']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /^3 connections/);
    assert.equal(run.measurements.afterDisconnect, undefined);
  });

  it('gives many connections more time to leave', async (t) => {
    const conducted = new ConductedRun(t, { broadcasts: { count: 0 } }, [{ duration: 1, arrivalRate: 200_000 }, PAUSE]);
    const { run } = conducted;
    run.context.link.tell = () => void setTimeout(() => run.leave(200_000), 300_000);
    await conducted.whole();
    assert.deepEqual(run.codes, []);
    assert.notEqual(run.measurements.afterDisconnect, undefined);
  });

  it('notices that Redis is gone, and why', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.context.redis = { read: async () => undefined, traffic: async () => undefined, lastFailure: 'ECONNREFUSED' };
    await conducted.whole();
    assert.deepEqual(run.codes, ['DEPLOYMENT_CHANGED']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /ECONNREFUSED/);
  });
});
