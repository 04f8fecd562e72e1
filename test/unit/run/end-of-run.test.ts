import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { RunStage } from '../../../plugin/run/stage.ts';
import { column, columns } from '../../helpers/columns.ts';
import { ConductedRun, fromTheStart, PAUSE, prepared, RAMP, testWarnings } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { assertNames } from '../../helpers/verdict.ts';

const LONG = { hold: 60, broadcasts: { count: 60 }, drain: { quiet: 60, deadline: 60 } };

/**
 * Stage in which the run is stopped, an obstacle for which the stage would otherwise wait, and the stages that follow.
 */
const STOPS: [RunStage, (run: FakeRun) => void, RunStage[]][] = [
  ['baseline', ({ context }) => (context.probe.onRoundTrip = () => {}), []],
  ['ramp', () => {}, []],
  ['plateau', ({ status }) => (status.joining = 1), []],
  ['hold', () => {}, ['end of the run', 'done']],
  ['broadcasts', () => {}, ['drain', 'end of the run', 'done']],
  ['drain', () => {}, ['end of the run', 'done']],
  ['disconnect', ({ context }) => (context.link.tell = () => {}), ['end of the run', 'done']],
];

for (const [stage, hinder, after] of STOPS) {
  it(`a run that is stopped in stage ${stage} ends immediately, without warnings`, async (t) => {
    const conducted = new ConductedRun(t, LONG, [RAMP, PAUSE]);
    const { time, run, conductor } = conducted;
    let stoppedMs = 0;
    conductor.onStage = () => {
      if (conductor.stage !== stage) return;
      hinder(run);
      stoppedMs = time.nowMs;
      setTimeout(() => run.stop.abort(), 10);
    };
    await conducted.whole();
    const { stages } = conducted;
    assert.deepEqual(stages.slice(stages.indexOf(stage) + 1), after);
    assert.deepEqual(run.codes, []);
    assert.ok(time.nowMs - stoppedMs < 5000, `${time.nowMs - stoppedMs} ms`);
    assert.equal(run.measurements.afterDisconnect, undefined);
    assert.equal(conductor.released, stage === 'disconnect');
  });
}

it('a stopped run takes no memory plateau of the connections that opened before the stop', async (t) => {
  const conducted = new ConductedRun(t);
  const { run } = conducted;
  await conducted.prepare();
  await conducted.phase(0);
  run.arrive(5);
  setTimeout(() => run.stop.abort(), 1000);
  await conducted.phase(1);
  assert.deepEqual([run.measurements.plateaus.length, run.measurements.peakConnections, run.codes], [1, 5, []]);
});

it('a stopped run keeps the ledger of earlier broadcasts, even if no worker answers', async (t) => {
  const { run } = await fromTheStart(t, LONG, ({ context: { control }, stop }, { conductor }) => {
    const lost = () => Promise.reject(new Error('connection lost'));
    conductor.onStage = () => {
      if (conductor.stage !== 'broadcasts') return;
      setTimeout(() => {
        Object.assign(control, { clock: lost, gc: lost });
        stop.abort();
      }, 2500);
    };
  });
  assert.deepEqual(columns(run.measurements.frozen, 'seq', 'received'), { seq: [1, 2, 3], received: [20, 20, 20] });
  assert.equal(run.measurements.sent.length, 3);
});

it('a stop during the warm-up prevents the start of the time series', async (t) => {
  const { run, stages } = await prepared(t, { warmUp: 10 }, ({ context, stop }) => {
    context.link.warmUp = async () => {
      stop.abort();
      throw new Error('closed');
    };
  });
  assert.deepEqual([stages, run.codes, run.measurements.plateaus], [[], [], []]);
  assert.ok(!run.asked.includes('sampler starts'));
});

const noRedis = {
  name: 'Redis at a:1',
  answers: async () => false,
  traffic: async () => undefined,
  absence: { reason: 'unanswered' as const, detail: 'ECONNREFUSED', sinceUs: 1, fix: 'start it' },
};
const neverRedis = { ...noRedis, absence: { ...noRedis.absence, sinceUs: undefined } };

it('a stop after the broadcasts does not report a silent Redis as lost', async (t) => {
  const { run } = await fromTheStart(t, {}, ({ context, stop }) => {
    context.redis = noRedis;
    context.link.freeze = async () => {
      stop.abort();
      return [];
    };
  });
  assert.deepEqual([run.codes, run.measurements.afterBroadcasts], [[], undefined]);
});

describe('a search for the part that ended', () => {
  /** @param w0 returns the reply of w0 to each query, if there is one */
  const stopped = async (t: TestContext, w0: (asked: number) => object | undefined, changes = {}) => {
    let asked = 0;
    const { conductor, run, time } = await prepared(t, {}, ({ context: { control }, measurements }) => {
      control.statsOfUp = async () => {
        const [first, ...others] = await control.stats();
        const answer = w0(asked++);
        return [first && answer && { ...first, ...answer }, ...others];
      };
      Object.assign(measurements, changes);
    });
    run.context.redis = noRedis;
    await time.until(conductor.stopped());
    return run;
  };

  it('reports a worker and Redis that ended together', async (t) => {
    const { noticed, measurements } = await stopped(t, () => undefined);
    assert.deepEqual(column(measurements.silentWorkers, 'worker'), ['w0']);
    assertNames(noticed[0]?.message, ['ECONNREFUSED']);
  });

  it('reports no process that the user stopped with the run', async (t) => {
    const { codes, measurements } = await stopped(t, () => undefined, { stoppedByUser: true });
    assert.deepEqual([codes, measurements.silentWorkers], [[], []]);
  });

  it('waits for a restarting worker, to distinguish it from its old process', async (t) => {
    const { codes, measurements } = await stopped(t, (asked) => (asked < 5 ? undefined : { instance: 'another' }));
    assert.deepEqual(codes, ['DEPLOYMENT_CHANGED'], 'of Redis');
    assert.equal(measurements.workersAtEnd[0]?.instance, 'another');
  });
});

describe('the finale', () => {
  it('the run goes from the last plateau to the disconnect without idle time and broadcasts', async (t) => {
    const conducted = new ConductedRun(t, { hold: 0, broadcasts: { count: 0 } }, [RAMP, PAUSE]);
    await conducted.whole();
    const { cpu, sent, frozen, afterBroadcasts } = conducted.run.measurements;
    assert.deepEqual(conducted.stages.slice(2), ['plateau', 'disconnect', 'end of the run', 'done']);
    assert.deepEqual([cpu.idle, cpu.broadcasts, sent, frozen, afterBroadcasts], [[], [], [], [], undefined]);
  });

  /** Ping intervals of w0 and w1, and the measured seconds of a hold of 4 s. */
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

  it('the run releases no virtual users if their flow does not hold', async (t) => {
    const { run, conductor, stages } = await fromTheStart(t, {}, ({ context }) => (context.holds = false));
    assert.deepEqual(stages.slice(-3), ['drain', 'end of the run', 'done']);
    assert.ok(!run.asked.includes('tell release'));
    assert.equal(conductor.released, false);
    assert.equal(run.measurements.afterDisconnect, undefined);
  });

  it('the run takes a memory plateau after its last ramp if no pause follows', async (t) => {
    const conducted = new ConductedRun(t, {}, [RAMP]);
    await conducted.whole();
    const { plateaus, cpu } = conducted.run.measurements;
    assert.deepEqual([column(plateaus, 'connections'), column(cpu.ramps, 'units')], [[0, 10], [10]]);
  });

  it('a run has no reading of memory after the disconnect while connections stay open', async (t) => {
    const { run, time } = await fromTheStart(t, {}, (run) => (run.context.link.tell = () => run.leave(17)));
    assert.ok(time.nowMs >= 120_000);
    assert.deepEqual(run.codes, ['PLATEAUS_UNUSABLE']);
    assert.match(run.noticed[0]?.message ?? '', /^3 /);
    assert.equal(run.measurements.afterDisconnect, undefined);
  });

  it('a run gives many connections more time to disconnect', async (t) => {
    const conducted = new ConductedRun(t, { broadcasts: { count: 0 } }, [{ duration: 1, arrivalRate: 200_000 }, PAUSE]);
    const { run } = conducted;
    run.context.link.tell = () => void setTimeout(() => run.leave(200_000), 300_000);
    await conducted.whole();
    assert.deepEqual(run.codes, []);
    assert.notEqual(run.measurements.afterDisconnect, undefined);
  });

  testWarnings(fromTheStart, [
    [
      'an ended Redis',
      ({ context }) => (context.redis = noRedis),
      'DEPLOYMENT_CHANGED',
      'Redis at a:1',
      'ECONNREFUSED',
    ],
    ['a Redis that never answered', ({ context }) => (context.redis = neverRedis)],
  ]);

  it('reports a Redis that never answered without failing the run', async (t) => {
    const { result } = await fromTheStart(t, {}, ({ context }) => (context.redis = neverRedis));
    const found = result.findings.find(({ code }) => code === 'SOURCE_UNREADABLE');
    assert.deepEqual(
      [found?.message, found?.fails, found?.invalidates, found?.fix],
      ['Redis at a:1 never answered: ECONNREFUSED', null, [], 'start it'],
    );
  });
});
