/** Ctrl-C, or virtual users that are all gone: a stage under way ends at once, and nobody is warned of what it lacks. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Stage } from '../../../plugin/run/stage.ts';
import { columns } from '../../helpers/columns.ts';
import { ConductedRun, PAUSE, RAMP } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { assertNames } from '../../helpers/verdict.ts';

const LONG = { hold: 60, broadcasts: { count: 60 }, drain: { quiet: 60, deadline: 60 } };

/** Where it is stopped; what the stage would wait for in vain, and warn of; stages that still come. */
const STOPS: [Stage, (run: FakeRun) => void, Stage[]][] = [
  ['baseline', ({ context }) => (context.probe.onRoundTrip = () => {}), []],
  ['ramp', () => {}, []],
  ['plateau', ({ status }) => (status.joining = 1), []],
  ['hold', () => {}, ['end of the run', 'done']],
  ['broadcasts', () => {}, ['drain', 'end of the run', 'done']],
  ['drain', () => {}, ['end of the run', 'done']],
  ['disconnect', ({ context }) => (context.link.tell = () => {}), ['end of the run', 'done']],
];

for (const [stage, hinder, after] of STOPS) {
  it(`ends in stage ${stage} at once, and warns of nothing`, async (t) => {
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

it('takes no plateau of those that have arrived until then', async (t) => {
  const conducted = new ConductedRun(t);
  const { run } = conducted;
  await conducted.prepare();
  await conducted.phase(0);
  run.arrive(5);
  setTimeout(() => run.stop.abort(), 1000);
  await conducted.phase(1);
  assert.deepEqual([run.measurements.plateaus.length, run.measurements.peakConnections, run.codes], [1, 5, []]);
});

it('keeps the ledger of the broadcasts until then, also where no worker answers any longer', async (t) => {
  const conducted = new ConductedRun(t, LONG, [RAMP, PAUSE]);
  const { run, conductor } = conducted;
  const { control } = run.context;
  conductor.onStage = () => {
    if (conductor.stage !== 'broadcasts') return;
    setTimeout(() => {
      control.clock = () => Promise.reject(new Error('connection lost'));
      control.gc = () => Promise.reject(new Error('connection lost'));
      run.stop.abort();
    }, 2500);
  };
  await conducted.whole();
  assert.deepEqual(columns(run.measurements.frozen, 'seq', 'received'), { seq: [1, 2, 3], received: [10, 10, 10] });
  assert.equal(run.measurements.sent.length, 3);
});

it('during the warm-up does not even begin the series', async (t) => {
  const conducted = new ConductedRun(t, { warmUp: 10 });
  const { run } = conducted;
  run.context.link.warmUp = async () => {
    run.stop.abort();
    throw new Error('closed');
  };
  await conducted.prepare();
  assert.deepEqual([conducted.stages, run.codes, run.measurements.plateaus], [[], [], []]);
  assert.ok(!run.asked.includes('sampler starts'));
});

describe('asked what has ended it', () => {
  const away = ({ context }: FakeRun) => {
    const { control } = context;
    control.statsOfUp = async () => [undefined, ...(await control.stats()).slice(1)];
    context.redis = { read: async () => undefined, traffic: async () => undefined, lastFailure: 'ECONNREFUSED' };
  };
  const stopped = async (t: TestContext, change: (run: FakeRun) => void): Promise<ConductedRun> => {
    const conducted = new ConductedRun(t);
    await conducted.prepare();
    change(conducted.run);
    await conducted.time.until(conducted.conductor.stopped());
    return conducted;
  };

  it('names a worker and Redis that are gone together', async (t) => {
    const { run } = await stopped(t, away);
    assert.deepEqual(run.codes, ['DEPLOYMENT_CHANGED', 'DEPLOYMENT_CHANGED']);
    const said = run.measurements.warnings.map(({ message }) => message).join('; ');
    assertNames(said, ['w0', 'ECONNREFUSED']);
    assert.doesNotMatch(said, /w1/);
  });

  it('names nobody who was stopped by the user, perhaps with the run', async (t) => {
    const { run } = await stopped(t, (run) => {
      away(run);
      run.measurements.stoppedByUser = true;
    });
    assert.deepEqual(run.codes, []);
  });

  it('waits for a worker that is restarted, to tell it from the one before', async (t) => {
    const { run } = await stopped(t, ({ context: { control } }) => {
      let asked = 0;
      control.statsOfUp = async () => {
        const [first, ...others] = await control.stats();
        return [asked++ < 5 || !first ? undefined : { ...first, instance: 'another' }, ...others];
      };
    });
    assert.deepEqual(run.codes, []);
    assert.deepEqual(run.measurements.workersAtEnd.map(({ instance }) => instance)[0], 'another');
  });
});

it('after the broadcasts does not take the silence of Redis for its loss', async (t) => {
  const conducted = new ConductedRun(t);
  const { run } = conducted;
  run.context.redis = { read: async () => undefined, traffic: async () => undefined, lastFailure: 'closed' };
  run.context.link.freeze = async () => {
    run.stop.abort();
    return [];
  };
  await conducted.whole();
  assert.deepEqual(run.codes, []);
  assert.equal(run.measurements.afterBroadcasts, undefined);
});
