/** What the conductor does at zero connections: warm-up, baseline, single round trips. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { ConductedRun } from '../../helpers/conducted-run.ts';

describe('the baseline', () => {
  it("warns of connections that are not the run's own", async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.others = 2;
    await conducted.prepare();
    assert.deepEqual(run.codes, ['SERVER_NOT_IDLE']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /^2 connections/);
  });

  it("takes the probe's and the sentinel's connections for its own", async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    assert.deepEqual(run.codes, [], 'the probe');
    run.context.sentinel = { connected: true, join: () => Promise.reject(new Error('not before the broadcasts')) };
    run.others = 1;
    await conducted.prepare();
    assert.deepEqual(run.codes, [], 'the probe and the sentinel');
  });

  it('comes when the connections of the warm-up are no longer counted', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 60 });
    const { run } = conducted;
    run.context.population.gone = async () => {
      run.asked.push('gone');
      return true;
    };
    await conducted.prepare();
    assert.deepEqual(run.asked.slice(0, 7), [
      ...['warm-up of 100', 'gc', 'warm-up of 20', 'gc'],
      ...['gone', 'sampler starts', 'gc'],
    ]);
  });

  it('warms up with users of the run where the server lets in nobody else', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 10 });
    const { run } = conducted;
    const came: number[] = [];
    const connection = { ...run.context.config.connection, url: 'http://127.0.0.1:1' };
    run.context.clients = {
      areUsers: true,
      nextPassing: () => {
        came.push(1);
        return { connection };
      },
    };
    await conducted.prepare();
    assert.ok(came.length > 0);
    assert.equal(run.asked.includes('warm-up of 20'), false, 'and not with connections of the fleet');
  });

  it('comes after a warm-up that failed, too, with a warning', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 10 });
    const { run } = conducted;
    run.context.link.warmUp = () => Promise.reject(new Error('http_502: no worker'));
    await conducted.prepare();
    assert.deepEqual(run.codes, ['CONNECTIONS_FAILED']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /http_502: no worker/);
    assert.deepEqual(conducted.stages, ['baseline']);
  });

  it('warns of warm-up connections that do not leave', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 10 });
    const { run } = conducted;
    run.context.link.warmUp = async () => {
      run.others = 5;
    };
    await conducted.prepare();
    assert.deepEqual(run.codes, ['CONNECTIONS_FAILED', 'WORKERS_DISAGREE']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /did not close within 10 s/);
  });
});

describe('the warm-up', () => {
  it('has broadcasts of every worker, to a room of its own, while its connections are there', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 10, broadcasts: { count: 0, bytes: 70 } });
    const { run } = conducted;
    const { control } = run.context;
    const { broadcast } = control;
    const orders: string[] = [];
    control.broadcast = (order, via) => {
      if (order.atUs === undefined) orders.push(`${order.bytes} to ${order.room} by ${via}`);
      return broadcast(order, via);
    };
    await conducted.prepare();
    assert.ok(orders.length >= 3 && orders.length <= 5, `${orders.length} in 0.3 s`);
    assert.deepEqual(new Set(orders), new Set([0, 1].map((via) => `70 to capacity:warm-up by ${via}`)));
    assert.ok(run.recorded.includes('warm-up'));
  });

  it('is over when its connections have left the server', async (t) => {
    const conducted = new ConductedRun(t, { warmUp: 10 });
    const { time, run } = conducted;
    run.context.link.warmUp = async () => {
      run.others = 5;
      setTimeout(() => (run.others = 0), 4000);
    };
    let beganMs = 0;
    conducted.conductor.onStage = () => (beganMs = time.nowMs);
    await conducted.prepare();
    assert.ok(beganMs >= 4000 && beganMs < 5000, `${beganMs} ms`);
    assert.deepEqual(run.codes, []);
  });
});

describe('single round trips', () => {
  it('go through a room of their own; the probe is in the room of all afterwards', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    await conducted.prepare();
    assert.deepEqual(
      run.asked.filter((what) => what.startsWith('probe')),
      ['probe joins capacity:single', 'probe joins capacity'],
    );
    assert.deepEqual(run.measurements.roundTripsUs.single, [2000, 2000]);
    assert.ok(run.recorded.includes('single-round-trips'));
  });

  it('are the difference of two clocks longer where another worker publishes', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.apart(async (via) => ({ atUs: monotonicUs(), offsetUs: [700, 1000][via] ?? 0, uncertaintyUs: 1 }));
    await conducted.prepare();
    // The probe is on w0, which answers; w0 publishes the first, w1 the second.
    assert.deepEqual(run.measurements.roundTripsUs.single, [2000, 2300]);
  });

  for (const roundTripUs of [0, -2000, 400, 4000, Number.NaN]) {
    it(`that cannot be, such as ${roundTripUs} µs, are no figure but a reason`, async (t) => {
      const conducted = new ConductedRun(t);
      const { run } = conducted;
      run.echo = { roundTripUs };
      await conducted.prepare();
      assert.deepEqual(run.measurements.roundTripsUs.single, []);
      assert.equal(run.measurements.impossibleRoundTrips.length, 2);
      assert.deepEqual(run.codes, [], 'they are not missing');
    });
  }

  it('that differ from what the probe saw by the error of a remote clock are possible', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    run.apart(async () => ({ atUs: monotonicUs(), offsetUs: 0, uncertaintyUs: 5000 }));
    run.echo = { roundTripUs: 6000 };
    await conducted.prepare();
    assert.deepEqual(run.measurements.roundTripsUs.single, [6000, 6000]);
  });

  it('are not known where the clocks differ, and the server does not name the worker of the probe', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    Object.assign(run.context.probe, { worker: '' });
    run.apart(async (via) => ({ atUs: monotonicUs(), offsetUs: [700, 9000][via] ?? 0, uncertaintyUs: 1 }));
    await conducted.prepare();
    assert.deepEqual(run.measurements.roundTripsUs.single, []);
    assert.deepEqual(run.codes, ['PROBE_INCOMPLETE']);
  });

  it('that are not answered in time are a warning', async (t) => {
    const conducted = new ConductedRun(t, { singleRoundTrips: 5 });
    const { time, run } = conducted;
    const { broadcast } = run.context.control;
    run.context.control.broadcast = (order, via) =>
      broadcast(order.seq > 3 ? { ...order, room: ':warm-up' } : order, via);
    await conducted.prepare();
    assert.ok(time.nowMs >= 30_000);
    assert.deepEqual(run.codes, ['PROBE_INCOMPLETE']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /^2 of 5 .*not answered$/);
  });

  it('that no worker sent are a warning at once, with the reason', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    run.context.control.broadcast = () => Promise.reject(new Error('it is out of memory'));
    await conducted.prepare();
    assert.ok(time.nowMs < 10_000);
    assert.deepEqual(run.codes, ['PROBE_INCOMPLETE']);
    assert.match(run.measurements.warnings[0]?.message ?? '', /^2 of 2 .*out of memory$/);
  });
});
