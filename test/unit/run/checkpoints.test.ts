/** What a standstill shows: the workers' counts, their statistics and the parts of the deployment. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { BusyWorkers } from '../../../plugin/run/checkpoints/busy-workers.ts';
import { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import { WarningsOnce } from '../../../plugin/run/checkpoints/warnings.ts';
import type { PrometheusReading } from '../../../plugin/samplers/prometheus/page.ts';
import type { ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import { ConductedRun } from '../../helpers/conducted-run.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { assertNames } from '../../helpers/verdict.ts';

/** The only warning; its message has the details. Without a code, there is none. */
function assertWarned({ run }: ConductedRun, code?: ReasonCode, ...details: (string | number)[]): void {
  assert.deepEqual(run.codes, code ? [code] : []);
  assertNames(run.measurements.warnings[0]?.message, details);
}

describe('the workers and the generator', () => {
  it('agree in a whole run', async (t) => {
    const conducted = new ConductedRun(t);
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, []);
  });

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
    run.strangers = 0;
    await conducted.prepare();
    await conducted.arriveAll();
    run.strangers = 30;
    await conducted.finale();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'after the broadcasts', 30);
  });

  it('agree where workers count only what the run made', async (t) => {
    const conducted = new ConductedRun(t);
    conducted.run.strangers = 0;
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, []);
  });

  it('disagree where a worker is known to nobody', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    const { stats } = run.context.control;
    run.context.control.stats = async () => (await stats()).slice(0, 1);
    await conducted.whole();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 10', 0);
  });

  it('disagree where workers count fewer than those of the run itself: never a negative number', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    const { stats } = run.context.control;
    run.context.control.stats = async () => (await stats()).map((one) => ({ ...one, connections: 0 }));
    await conducted.whole();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 0', 'fewer than the 1');
  });

  it('disagree where joins name the wrong worker, although their sum is right', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    const { stats } = run.context.control;
    // The probe and 4 connections on w0, 16 on w1.
    run.context.control.stats = async () =>
      (await stats()).map((one, index) => ({
        ...one,
        connections: run.status.connected < 20 ? one.connections : index === 0 ? 5 : 16,
      }));
    const { snapshots } = run.context.link;
    const named = async (perWorker: Record<string, number>) => {
      run.context.link.snapshots = async () => (await snapshots()).map((one) => ({ ...one, perWorker }));
      const checkpoints = new Checkpoints(run.context);
      await checkpoints.check('after the broadcasts');
      checkpoints.checkEachWorker(await run.context.link.snapshots());
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

  it('disagree where the processes of the server have fewer sockets than there are connections', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.context.openFiles = async () => 30 + run.status.connected / 2;
    await conducted.whole();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 20', 10);
  });

  it('agree where the processes have a socket for each connection, and some more', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.context.openFiles = async () => 30 + run.status.connected * 2;
    await conducted.whole();
    assert.deepEqual(run.codes, []);
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

  it('disagree where others use the port of the server, too', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    // A connection to a page of metrics, and the probe's; then as many of others as of the run.
    run.context.connections = async () => 2 + 2 * run.status.connected;
    await conducted.whole();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 10', '10 connections');
  });

  it('agree where a few others use the port', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.context.connections = async () => run.status.connected + (run.status.connected > 0 ? 5 : 0);
    await conducted.whole();
    assert.deepEqual(run.codes, []);
  });

  it('agree where others used the port before the load already, which is said by itself', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.context.connections = async () => run.status.connected + 40;
    await conducted.whole();
    assert.deepEqual(run.codes, ['SERVER_NOT_IDLE']);
  });

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

  it('leave connections that were there before to their own reason', async (t) => {
    const conducted = new ConductedRun(t);
    conducted.run.others = 2;
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, ['SERVER_NOT_IDLE']);
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

describe('workers that cannot be told apart', () => {
  it('are one process behind two control URLs', async (t) => {
    const conducted = new ConductedRun(t);
    conducted.run.context.control.stats = async () => [workerStats('w0', 1), workerStats('w0', 1)];
    await conducted.prepare();
    assertWarned(conducted, 'WORKER_URLS_WRONG', '1 of 2');
  });

  it('have one name', async (t) => {
    const conducted = new ConductedRun(t);
    conducted.run.context.control.stats = async () => [workerStats('w0', 1), { ...workerStats('w0', 0), pid: 4711 }];
    await conducted.prepare();
    assertWarned(conducted, 'WORKER_URLS_WRONG', 'w0, w0');
  });
});

it('statistics that stand still are stale', async (t) => {
  const conducted = new ConductedRun(t);
  const { stats } = conducted.run.context.control;
  conducted.run.context.control.stats = async () => (await stats()).map((one) => ({ ...one, uptimeSeconds: 60 }));
  await conducted.whole();
  assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 'w0, w1');
});

describe('an admin UI', () => {
  /** @param counts of the servers' clients, beside those that the run holds */
  function withAdminUi(t: TestContext, counts: (held: number) => number[], uptime = () => performance.now() / 1000) {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    const { stats } = run.context.control;
    // Of a server without control ports.
    run.context.control.stats = async () => (await stats()).slice(0, 0);
    Object.assign(run.context.probe, { connected: false });
    run.context.adminUi = {
      connected: true,
      servers: () =>
        counts(run.status.connected).map((connections, index) => {
          const worker = `s${index}`;
          return { worker, host: 'a', pid: index, uptimeSeconds: uptime(), connections };
        }),
    };
    return conducted;
  }

  it('agrees, its own connection left out, and its counts are noted at the largest number', async (t) => {
    const conducted = withAdminUi(t, (held) => [1 + held / 2, held / 2]);
    await conducted.whole();
    assertWarned(conducted);
    assert.deepEqual(conducted.run.measurements.perServer, { s0: 11, s1: 10 });
    assert.deepEqual(conducted.run.measurements.workersAtStart, []);
  });

  it('disagrees, and is named as what counts', async (t) => {
    const conducted = withAdminUi(t, (held) => [1 + Math.max(0, held - 2)]);
    await conducted.whole();
    assertWarned(conducted, 'WORKERS_DISAGREE', 'at 10', 'admin UI', 8);
  });

  it('knows clients that were there before', async (t) => {
    const conducted = withAdminUi(t, (held) => [1 + held, 3]);
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, ['SERVER_NOT_IDLE']);
  });

  it('without news of a server is stale', async (t) => {
    const conducted = withAdminUi(
      t,
      (held) => [1 + held],
      () => 60,
    );
    await conducted.whole();
    assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 's0', 'admin UI');
  });
});

describe('metrics of a server', () => {
  /** @param read figures of each target, or undefined where it does not answer */
  function withMetrics(
    t: TestContext,
    read: () => (PrometheusReading['figures'] | undefined)[],
    { alternates = () => false as boolean, layer = 'worker' } = {},
  ): ConductedRun {
    const conducted = new ConductedRun(t);
    conducted.run.context.metrics[layer] = {
      readEach: async () =>
        read().map((figures, index) => {
          const url = `http://w${index}/metrics`;
          if (figures === undefined) {
            return { url, reading: undefined, failure: `no metrics from ${url}: HTTP 503`, alternates: false };
          }
          return { url, reading: { figures, identity: '' }, failure: undefined, alternates: alternates() };
        }),
    };
    return conducted;
  }
  let count = 0;
  /** Another number each time. */
  const next = () => ++count;

  it('that stand still while connections come are stale', async (t) => {
    const conducted = withMetrics(t, () => [{ rssBytes: 5 }]);
    await conducted.whole();
    assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 'http://w0/metrics', 'at 0');
  });

  it('of one of several workers can stand still: it can be without new connections', async (t) => {
    const conducted = withMetrics(t, () => [{ rssBytes: 5, cpuSeconds: next() }, { rssBytes: 5 }]);
    await conducted.whole();
    assertWarned(conducted);
  });

  it('of one of several workers are stale if its CPU time stands still, too', async (t) => {
    const conducted = withMetrics(t, () => [
      { rssBytes: 5, cpuSeconds: next() },
      { rssBytes: 5, cpuSeconds: 7 },
    ]);
    await conducted.whole();
    assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 'http://w1/metrics', 'at 0');
  });

  it('of one process by two names are one page too many', async (t) => {
    const page = () => ({ rssBytes: 5e6 + Math.floor(count / 9), cpuSeconds: next() });
    const conducted = withMetrics(t, () => [page(), page()]);
    await conducted.whole();
    assertWarned(conducted, 'WORKER_URLS_WRONG', 'http://w0/metrics', 'http://w1/metrics');
  });

  it('of two processes that are alike once, or have used as much CPU time, are not', async (t) => {
    let reads = 0;
    const page = (index: number) => {
      reads++;
      return { rssBytes: 5e6 + (reads > 6 ? index * 4096 : 0), cpuSeconds: reads / 10 };
    };
    const conducted = withMetrics(t, () => [page(0), page(1)]);
    await conducted.whole();
    assertWarned(conducted);
  });

  it('of processes that answer in turn are of nobody', async (t) => {
    let connected = false;
    const conducted = withMetrics(t, () => [{ rssBytes: next() }], { alternates: () => connected });
    await conducted.prepare();
    connected = true;
    await conducted.arriveAll();
    await conducted.finale();
    assertWarned(conducted, 'WORKER_URLS_WRONG', 'at 10', 'http://w0/metrics');
  });

  it('that do not answer are named once', async (t) => {
    let isGone = false;
    const conducted = withMetrics(t, () => [{ rssBytes: next() }, isGone ? undefined : { rssBytes: next() }]);
    await conducted.prepare();
    isGone = true;
    await conducted.arriveAll();
    await conducted.finale();
    assertWarned(conducted, 'READINGS_MISSING', 'at 10', 'http://w1/metrics', 503);
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
