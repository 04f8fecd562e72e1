/** What the conductor does after the last phase: hold, broadcasts, disconnect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { type Change, ConductedRun, fromTheStart, PAUSE, RAMP, testWarnings } from '../../helpers/conducted-run.ts';

const noRedis: Change = ({ context }) => {
  context.redis = { read: async () => undefined, traffic: async () => undefined, lastFailure: 'ECONNREFUSED' };
};

describe('the finale', () => {
  it('without idle time and broadcasts goes from the last plateau to the disconnect', async (t) => {
    const conducted = new ConductedRun(t, { hold: 0, broadcasts: { count: 0 } }, [RAMP, PAUSE]);
    await conducted.whole();
    const { cpu, sent, frozen, afterBroadcasts } = conducted.run.measurements;
    assert.deepEqual(conducted.stages.slice(2), ['plateau', 'disconnect', 'end of the run', 'done']);
    assert.deepEqual([cpu.idle, cpu.broadcasts, sent, frozen, afterBroadcasts], [[], [], [], [], undefined]);
  });

  /** What w0 and w1 say of their pings, and seconds of the hold of 4 in which CPU is measured. */
  const PINGS: [everyMs: (string | undefined)[], seconds: number][] = [
    [[], 4],
    [['1500', '1500'], 3],
    [['2000', '2000'], 4],
    [['5000', '5000'], 4],
    [['1500', '3000'], 4],
  ];
  for (const [everyMs, seconds] of PINGS) {
    it(`measures ${seconds} s of a hold of 4 s in ten parts, if workers ping every ${everyMs.join(' and ')} ms`, async (t) => {
      const { run } = await fromTheStart(t, { hold: 4 }, ({ context: { control } }) => {
        const { stats } = control;
        control.stats = async () =>
          (await stats()).map((worker, index) => {
            const pingInterval = everyMs[index];
            const options: Record<string, string> = pingInterval === undefined ? {} : { pingInterval };
            return { ...worker, server: { kind: 'own', tunings: {}, options } };
          });
      });
      const { cpu, stages } = run.measurements;
      assert.equal(cpu.idle.length, 10);
      for (const { seconds: ofPart, units, cpuUs } of cpu.idle) {
        assert.deepEqual([Math.round(ofPart * 100) / 100, units], [seconds / 10, 0]);
        assert.equal(Math.round((cpuUs.worker ?? 0) / ofPart), 100_000);
      }
      const [held = 0, after = 0] = ['hold', 'broadcasts'].map((stage) => stages.find(({ name }) => name === stage)?.t);
      assert.ok(Math.round((after - held) * 100) / 100 >= 4);
    });
  }

  it('releases nobody where virtual users do not hold', async (t) => {
    const { run, conductor, stages } = await fromTheStart(t, {}, ({ context }) => (context.holds = false));
    assert.deepEqual(stages.slice(-3), ['drain', 'end of the run', 'done']);
    assert.ok(!run.asked.includes('tell release'));
    assert.equal(conductor.released, false);
    assert.equal(run.measurements.afterDisconnect, undefined);
  });

  it('ends the last ramp and takes a plateau where no pause follows it', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP]);
    await conducted.whole();
    const { plateaus, cpu } = conducted.run.measurements;
    assert.deepEqual([column(plateaus, 'connections'), column(cpu.ramps, 'units')], [[0, 10], [10]]);
  });

  it('knows no residual while connections stay', async (t) => {
    const { run, time } = await fromTheStart(t, {}, (run) => (run.context.link.tell = () => run.leave(17)));
    assert.ok(time.nowMs >= 120_000);
    assert.deepEqual(run.codes, ['PLATEAUS_UNUSABLE']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /^3 /);
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

  testWarnings(fromTheStart, [['without Redis', noRedis, 'DEPLOYMENT_CHANGED', 'ECONNREFUSED']]);
});
