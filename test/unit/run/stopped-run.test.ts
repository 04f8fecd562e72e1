/** Ctrl-C, or virtual users that are all gone: a stage under way ends at once, and nobody is warned of what it lacks. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Stage } from '../../../plugin/run/stage.ts';
import { columns } from '../../helpers/columns.ts';
import { ConductedRun, PAUSE, RAMP } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';

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
