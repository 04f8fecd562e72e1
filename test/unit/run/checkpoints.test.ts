/** What a standstill shows: the workers' counts, their statistics and the parts of the deployment. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { BusyWorkers } from '../../../plugin/run/checkpoints/busy-workers.ts';
import { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import { WarningsOnce } from '../../../plugin/run/checkpoints/warnings.ts';
import type { ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { WorkerStats } from '../../../protocol/events.ts';
import { assertWarned, ConductedRun } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';

/** What workers and the kernel count in a whole run, and what is said of it. */
const COUNTS: { name: string; counts?: (run: FakeRun) => void; warned?: [ReasonCode, ...(string | number)[]] }[] = [
  { name: 'the same as the generator' },
  {
    name: 'others that were there before',
    counts: (run) => Object.assign(run, { others: 2 }),
    warned: ['SERVER_NOT_IDLE'],
  },
  {
    name: 'those of one worker of two',
    counts: (run) => countWith(run, (workers) => workers.slice(0, 1)),
    warned: ['WORKERS_DISAGREE', 'at 10', 0],
  },
  {
    name: 'what they counted before',
    counts: (run) => countWith(run, (workers) => workers.map((one) => ({ ...one, uptimeSeconds: 60 }))),
    warned: ['STATISTICS_STALE', 'at 10', 'w0, w1'],
  },
  {
    name: 'fewer than those of the run itself: never a negative number',
    counts: (run) => countWith(run, (workers) => workers.map((one) => ({ ...one, connections: 0 }))),
    warned: ['WORKERS_DISAGREE', 'at 0', 1],
  },
  {
    name: 'fewer sockets of the processes than connections',
    counts: (run) => openFiles(run, (held) => 30 + held / 2),
    warned: ['WORKERS_DISAGREE', 'at 20', 10],
  },
  { name: 'a socket for each connection, and some more', counts: (run) => openFiles(run, (held) => 30 + held * 2) },
  {
    // A connection to a page of metrics, and the probe's; then as many of others as of the run.
    name: 'others at the port of the server',
    counts: (run) => connectionsToPort(run, (held) => 2 + 2 * held),
    warned: ['WORKERS_DISAGREE', 'at 10', 10],
  },
  { name: 'a few others at the port', counts: (run) => connectionsToPort(run, (held) => held + (held > 0 ? 5 : 0)) },
  {
    name: 'others that used the port before',
    counts: (run) => connectionsToPort(run, (held) => held + 40),
    warned: ['SERVER_NOT_IDLE'],
  },
];

function countWith({ context: { control } }: FakeRun, count: (workers: WorkerStats[]) => WorkerStats[]): void {
  const { stats } = control;
  control.stats = async () => count(await stats());
}

function openFiles(run: FakeRun, files: (held: number) => number): void {
  run.context.target.openFiles = async () => files(run.status.connected);
}

function connectionsToPort(run: FakeRun, connections: (held: number) => number): void {
  run.context.target.connections = async () => connections(run.status.connected);
}

describe('workers and kernel count', () => {
  for (const { name, counts = () => {}, warned: [code, ...details] = [] } of COUNTS) {
    it(name, async (t) => {
      const conducted = new ConductedRun(t);
      counts(conducted.run);
      await conducted.whole();
      assertWarned(conducted, code, ...details);
    });
  }
});

describe('the workers and the generator', () => {
  it('disagree once, at the first standstill that shows it', async (t) => {
    const conducted = new ConductedRun(t);
    await conducted.prepare();
    conducted.run.others = 3;
    await conducted.arriveAll();
    await conducted.finale();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 10', 13);
  });

  it('disagree where others came and went between two standstills', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    await conducted.arriveAll();
    run.strangers = 30;
    await conducted.finale();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'after the broadcasts', 30);
  });

  it('disagree where joins name the wrong worker, although their sum is right', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    // The probe and 4 connections on w0, 16 on w1.
    countWith(run, (workers) =>
      workers.map((one, index) => ({
        ...one,
        connections: run.status.connected < 20 ? one.connections : index === 0 ? 5 : 16,
      })),
    );
    const { snapshots } = run.context.link;
    const named = async (perWorker: Record<string, number>) => {
      run.context.link.snapshots = async () => (await snapshots()).map((one) => ({ ...one, perWorker }));
      await new Checkpoints(run.context).end();
      return run.codes;
    };
    run.arrive(20);
    assert.deepEqual(await conducted.time.until(named({ w0: 4, w1: 16 })), []);
    assert.deepEqual(await conducted.time.until(named({ w1: 4 })), [], 'most joins name no worker');
    assert.equal(run.measurements.misnamed, false);
    assert.deepEqual(await conducted.time.until(named({ w0: 16, w1: 4 })), ['WORKERS_DISAGREE']);
    assertWarned(conducted, 'WORKERS_DISAGREE', 'after the broadcasts', 'w0', 5, 16, 'w1', 4);
    const { localMs, crossWorkerMs } = latencyFigures(run.measurements);
    assert.deepEqual([run.measurements.misnamed, localMs, crossWorkerMs], [true, null, null]);
  });

  it('are not waited for again once they have disagreed', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.others = 3;
    const checkpoints = new Checkpoints(run.context);
    await time.until(checkpoints.check('at one standstill'));
    const firstMs = time.nowMs;
    await time.until(checkpoints.check('at the next one'));
    assert.ok(firstMs >= 3000);
    assert.equal(time.nowMs, firstMs);
  });

  it('may take a moment to agree', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, time } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(10);
    run.others = 1;
    setTimeout(() => Object.assign(run, { others: 0 }), 2500);
    await conducted.phase(1);
    assert.deepEqual([run.codes, run.measurements.plateaus.length], [[], 2]);
    assert.ok(time.nowMs >= 2500);
  });

  it('agree however long the workers take to close many connections, as long as they come nearer', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.others = 20;
    const closing = setInterval(() => Object.assign(run, { others: Math.max(0, run.others - 1) }), 1000);
    await time.until(new Checkpoints(run.context).check('after all had left'));
    clearInterval(closing);
    assert.deepEqual(run.codes, []);
    assert.ok(time.nowMs >= 20_000);
  });

  it('disagree where they come nearer for more than two minutes', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.others = 1000;
    const closing = setInterval(() => Object.assign(run, { others: run.others - 1 }), 1000);
    await time.until(new Checkpoints(run.context).check('after all had left'));
    clearInterval(closing);
    assert.deepEqual(run.codes, ['WORKERS_DISAGREE']);
    assert.ok(time.nowMs >= 120_000 && time.nowMs < 130_000);
  });

  it('disagree where the next connections come before the workers have come near enough', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.others = 20;
    const closing = setInterval(() => Object.assign(run, { others: Math.max(1, run.others - 1) }), 1000);
    const beganMs = time.nowMs;
    const ramp = setInterval(() => time.nowMs - beganMs > 8000 && run.arrive(1), 500);
    await time.until(new Checkpoints(run.context).check('at a plateau'));
    clearInterval(closing);
    clearInterval(ramp);
    assert.deepEqual(run.codes, ['WORKERS_DISAGREE']);
  });

  for (const [cpu, codes] of [
    ['stands still', ['WORKERS_DISAGREE']],
    ['moves', []],
  ] as const) {
    it(`${codes.length > 0 ? 'disagree' : 'agree'} where their CPU time ${cpu} while 400 connections come`, async (t) => {
      const { run } = new ConductedRun(t);
      let cpuUs = 7;
      run.context.sampler.cpu = async () => ({ worker: cpu === 'moves' ? cpuUs++ : cpuUs });
      const busy = new BusyWorkers(run.context, new WarningsOnce(run.context));
      let connections = 0;
      run.context.population.connections = () => connections;
      await busy.check('before the load');
      connections = 399;
      await busy.check('at 399');
      assert.deepEqual(run.codes, []);
      connections = 400;
      await busy.check('at 400');
      assert.deepEqual(run.codes, codes);
    });
  }

  it('are not compared while connections come and go', async (t) => {
    const conducted = new ConductedRun(t);
    const { run, time } = conducted;
    await conducted.prepare();
    await conducted.phase(0);
    run.arrive(10);
    run.others = 1;
    const churn = setInterval(() => (run.status.connected === 10 ? run.leave(1) : run.arrive(1)), 500);
    await time.until(new Checkpoints(run.context).check('at a plateau'));
    clearInterval(churn);
    assert.deepEqual(run.codes, []);
  });

  it('count no probe whose connection has ended', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    Object.assign(run.context.probe, { connected: false });
    run.others = -1;
    await conducted.phase(0);
    run.arrive(10);
    await conducted.phase(1);
    assert.deepEqual(run.codes, []);
  });
});

describe('a deployment', () => {
  it('of which a part is replaced is another one', async (t) => {
    const conducted = new ConductedRun(t);
    const { context } = conducted.run;
    await conducted.prepare();
    context.deployment = async () => ({ nginx: '7,9', Redis: 'run-2' });
    await conducted.arriveAll();
    assertWarned(conducted, 'DEPLOYMENT_CHANGED', 'at 10', 'nginx', 'Redis');
  });

  it('of which a part cannot be read is the same', async (t) => {
    const conducted = new ConductedRun(t);
    const { context } = conducted.run;
    await conducted.prepare();
    context.deployment = async () => ({ nginx: '7,8' });
    await conducted.arriveAll();
    assert.deepEqual(conducted.run.codes, []);
  });
});

it('an engine that leaves requests unanswered is silent', async (t) => {
  const conducted = new ConductedRun(t);
  await conducted.prepare();
  await conducted.arriveAll();
  conducted.run.context.link.unanswered = 1;
  await conducted.finale();
  assert.deepEqual(conducted.run.codes, ['GENERATOR_SILENT']);
});

it('a probe whose connection ends leaves its round trips unanswered', async (t) => {
  const conducted = new ConductedRun(t);
  const { run } = conducted;
  await conducted.prepare();
  await conducted.arriveAll();
  Object.assign(run.context.probe, { connected: false, leftAtUs: 1 });
  run.others = -1;
  const { broadcast } = run.context.control;
  run.context.control.broadcast = (order, via) => {
    run.context.probe.onRoundTrip = () => {};
    return broadcast(order, via);
  };
  await conducted.finale();
  assertWarned(conducted, 'PROBE_INCOMPLETE', '3 of 3');
});
