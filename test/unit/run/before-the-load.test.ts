import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settingsWithoutClients } from '../../../plugin/run/open-clients.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { prepared, testWarnings } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { measurements } from '../../helpers/measurements.ts';

const WARM_UP = { warmUp: 10 };

describe('the baseline', () => {
  testWarnings(prepared, [
    ['the baseline excludes the connection of the probe', () => {}],
    [
      'the baseline excludes the connection of the reference receiver',
      (run) => {
        run.others = 1;
        run.context.sentinel = { connected: true, join: () => Promise.reject(new Error('not before the broadcasts')) };
      },
    ],
  ]);

  it('reads the baseline once the connections of the warm-up are no longer counted', async (t) => {
    const { run } = await prepared(t, { warmUp: 60 }, ({ context, asked }) => {
      context.population.gone = async () => asked.push('gone') > 0;
    });
    assert.deepEqual(run.asked.slice(0, 7), [
      ...['warm-up of 100', 'gc', 'warm-up of 20', 'gc'],
      ...['gone', 'sampler starts', 'gc'],
    ]);
  });

  it('reads the baseline after a failed warm-up, with a warning', async (t) => {
    const warmUp = () => Promise.reject(new Error('http_502: no worker'));
    const { run, stages } = await prepared(t, WARM_UP, ({ context }) => Object.assign(context.link, { warmUp }));
    assert.deepEqual(run.codes, ['CONNECTIONS_FAILED']);
    assert.match(run.noticed[0]?.message ?? '', /http_502: no worker/);
    assert.deepEqual(stages, ['baseline']);
  });
});

describe('the warm-up', () => {
  /** @param goneAfterMs milliseconds until the server has closed the warm-up connections */
  const leaving = (goneAfterMs: number) => (run: FakeRun) => {
    run.context.link.warmUp = async () => {
      run.others = 5;
      setTimeout(() => (run.others = 0), goneAfterMs);
    };
  };

  it('the warm-up publishes from every worker to its own room while connections are open', async (t) => {
    const orders: string[] = [];
    const options = { ...WARM_UP, broadcasts: { count: 0, bytes: 70 } };
    await prepared(t, options, ({ context: { control } }) => {
      const { broadcast } = control;
      control.broadcast = (order, via) => {
        if (order.atUs === undefined) orders.push(`${order.bytes} to ${order.room} by ${via}`);
        return broadcast(order, via);
      };
    });
    assert.ok(orders.length >= 3 && orders.length <= 5, `${orders.length} in 0.3 s`);
    assert.deepEqual(new Set(orders), new Set([0, 1].map((via) => `70 to capacity:warm-up by ${via}`)));
  });

  it('the warm-up uses virtual users if the server refuses clients that only connect', async (t) => {
    let arrived = 0;
    const { run } = await prepared(t, WARM_UP, ({ context }) => {
      const connection = { ...context.config.connection, url: 'http://127.0.0.1:1' };
      context.clients = {
        ...context.clients,
        areUsers: true,
        nextTemporary: () => ({ connection, number: arrived++ }),
      };
    });
    assert.ok(arrived > 0);
    assert.equal(run.asked.includes('warm-up of 20'), false, 'and not with connections of the fleet');
  });

  it('the warm-up ends when the server has closed its connections', async (t) => {
    let beganMs = 0;
    const { run } = await prepared(t, WARM_UP, (run, { conductor, time }) => {
      leaving(4000)(run);
      conductor.onStage = () => (beganMs = time.nowMs);
    });
    assert.ok(beganMs >= 4000 && beganMs < 5000, `${beganMs} ms`);
    assert.deepEqual(run.codes, []);
  });

  it('warns of warm-up connections that stay open', async (t) => {
    const { run } = await prepared(t, WARM_UP, leaving(100_000));
    assert.deepEqual(run.codes, ['CONNECTIONS_FAILED', 'WORKERS_DISAGREE']);
  });
});

describe('single round trips', () => {
  const separateClocks = (offsetsUs: number[], uncertaintyUs: number) => (run: FakeRun) =>
    run.apart(async (via) => ({ atUs: monotonicUs(), offsetUs: offsetsUs[via] ?? 0, uncertaintyUs }));

  it('single round trips use a separate room, and the measuring client joins the common room later', async (t) => {
    const { run } = await prepared(t, {}, () => {});
    const joins = run.asked.filter((what) => what.startsWith('probe'));
    assert.deepEqual(joins, ['probe joins capacity:single', 'probe joins capacity']);
    assert.equal(run.measurements.roundTripsUs.single.length, 2);
  });

  const answering =
    (roundTripUs: number, more: Happens = () => {}): Happens =>
    (run) => {
      run.echo = { roundTripUs };
      more(run);
    };
  type Happens = (run: FakeRun) => void;
  type Trip = [what: string, happens: Happens, us: number[], impossible?: number];
  const TRIPS: Trip[] = [
    ['equal the time that the server acknowledges', () => {}, [2000, 2000]],
    // The probe is connected to w0. Worker w0 publishes the first broadcast, and w1 the second.
    ['are corrected by two clock offsets if another worker publishes', separateClocks([700, 1000], 1), [2000, 2300]],
    ['are accepted within the error of a remote clock', answering(6000, separateClocks([0, 0], 5000)), [6000, 6000]],
    ...[0, -2000, 400, 4000, Number.NaN].map(
      (us): Trip => [`of ${us} µs are rejected as impossible`, answering(us), [], 2],
    ),
  ];
  for (const [what, change, us, impossible = 0] of TRIPS) {
    it(`round trips of single broadcasts ${what}`, async (t) => {
      const { run } = await prepared(t, {}, change);
      const { roundTripsUs, impossibleRoundTrips } = run.measurements;
      assert.deepEqual([roundTripsUs.single, impossibleRoundTrips.length, run.codes], [us, impossible, []]);
    });
  }

  const nameless = (run: FakeRun) => {
    Object.assign(run.context.probe, { worker: '' });
    separateClocks([700, 9000], 1)(run);
  };
  const unanswered = ({ context: { control } }: FakeRun) => {
    const { broadcast } = control;
    control.broadcast = (order, via) => broadcast(order.seq > 3 ? { ...order, room: ':warm-up' } : order, via);
  };
  const unsent = ({ context: { control } }: FakeRun) => {
    control.broadcast = () => Promise.reject(new Error('it is out of memory'));
  };
  for (const [what, change, answered, afterMs, message] of [
    ['missing between different clocks, from a worker without a name', nameless, 0, 30_000, /^5 of 5/],
    ['missing after a timeout', unanswered, 3, 30_000, /^2 of 5/],
    ['missing at once, because no worker sent', unsent, 0, 0, /^5 of 5.* out of memory/],
  ] as const) {
    it(`reports round trips that are ${what}`, async (t) => {
      const { run, time } = await prepared(t, { singleRoundTrips: 5 }, change);
      assert.ok(time.nowMs >= afterMs && time.nowMs < afterMs + 10_000, `${time.nowMs} ms`);
      assert.equal(run.measurements.roundTripsUs.single.length, answered);
      assert.deepEqual(run.codes, ['PROBE_INCOMPLETE']);
      assert.match(run.noticed[0]?.message ?? '', message);
    });
  }
});

it('a failed warm-up makes memory per connection unreliable only in a run that measures memory', () => {
  const lostOf = (memory: boolean) => {
    const measured = measurements({ memory });
    const refused = { reason: 'HTTP 403', fix: '' };
    settingsWithoutClients({ warmUp: 5 } as never, refused as never, { measurements: measured } as never);
    return measured.observations.of('clientsRefused')[0]?.lost.join();
  };
  assert.match(lostOf(true) ?? '', /the memory per connection includes/);
  assert.equal(lostOf(false), 'warm-up connections');
});
