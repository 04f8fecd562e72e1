import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import { BusyWorkers } from '../../../plugin/run/checkpoints/kernel-counts.ts';
import { deploymentPartsOf } from '../../../plugin/run/measurements/worker-identity.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import {
  afterTheBaseline,
  assertWarned,
  atFullTarget,
  ConductedRun,
  fromTheStart,
  testWarnings,
} from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { assertNames } from '../../helpers/verdict.ts';

type Change = (run: FakeRun) => void;

const counting =
  (count: (one: WorkerStats, index: number) => object): Change =>
  ({ context: { control } }) => {
    const { stats } = control;
    control.stats = async () => (await stats()).map((one, index) => ({ ...one, ...count(one, index) }));
  };
const openFiles =
  (files: (held: number) => number): Change =>
  ({ context, status }) => {
    context.target.openFiles = async () => files(status.connected);
  };
const toPort =
  (connections: (held: number) => number): Change =>
  ({ context, status }) => {
    context.target.connections = async () => connections(status.connected);
  };
const oneWorker: Change = ({ context: { control } }) => {
  const { stats } = control;
  control.stats = async () => (await stats()).slice(0, 1);
};

describe('workers and kernel count', () => {
  testWarnings(fromTheStart, [
    ['workers and kernel count as many connections as the generator', () => {}],
    ['the baseline includes existing connections of other programs', (run) => (run.others = 2), 'SERVER_NOT_IDLE', 2],
    ['workers count connections of one worker of two', oneWorker, 'WORKERS_DISAGREE', 'at 10', 0],
    [
      'workers repeat their previous counts',
      counting(() => ({ uptimeSeconds: 60 })),
      'WORKER_URLS_WRONG',
      'at 10',
      'w0, w1',
    ],
    [
      'workers count fewer connections than before the load',
      counting(() => ({ connections: 0 })),
      'WORKERS_DISAGREE',
      'no connection was open',
      1,
    ],
    [
      'workers count fewer sockets than connections',
      openFiles((held) => 30 + held / 2),
      'WORKERS_DISAGREE',
      'at 20',
      10,
    ],
    ['workers count more than a socket for each connection', openFiles((held) => 30 + held * 2)],
    [
      "other programs connect to the server's port as often as the run",
      toPort((held) => 2 + 2 * held),
      'WORKERS_DISAGREE',
      'at 10',
      10,
    ],
    ['other programs have a few connections to the port', toPort((held) => held + (held > 0 ? 5 : 0))],
    ['other programs had connections to the port before the load', toPort((held) => held + 40), 'SERVER_NOT_IDLE'],
  ]);
});

describe('after the baseline', () => {
  const parts = (deployment: Record<string, string>) => (run: FakeRun) => {
    run.context.deployment = async () => deploymentPartsOf('worker', deployment);
  };
  testWarnings(afterTheBaseline, [
    [
      'new connections of other programs after the baseline, reported once',
      (run) => (run.others = 3),
      'WORKERS_DISAGREE',
      'at 10',
      13,
    ],
    [
      'replaced parts of the deployment after the baseline',
      parts({ nginx: '7,9', Redis: 'run-2' }),
      'DEPLOYMENT_CHANGED',
      'at 10',
      'nginx',
      'Redis',
    ],
    ['a part of the deployment that cannot be read after the baseline', parts({ nginx: '7,8' })],
  ]);
});

it('reports a worker that restarts and later counts more than its old process', async (t) => {
  let standstill = 0;
  const uptimes = [100, 110, 4, 300];
  const conducted = new ConductedRun(t);
  counting((_, index) => (index === 1 ? { uptimeSeconds: uptimes[standstill] } : {}))(conducted.run);
  const checkpoints = new Checkpoints(conducted.run.context);
  await checkpoints.begin();
  for (standstill = 1; standstill < uptimes.length; standstill++)
    await conducted.time.until(checkpoints.check({ at: 'plateau', count: 1 }));
  const [found] = conducted.run.measurements.restarts;
  assert.deepEqual([found?.[0], found?.[1].evidence], ['w1', 'its uptime fell from 110 s to 4 s']);
});

describe('at full target', () => {
  const endProbe: Change = (run) => {
    const { probe, control } = run.context;
    Object.assign(probe, { connected: false, leftAtUs: 1 });
    run.others = -1;
    const { broadcast } = control;
    control.broadcast = (order, via) => {
      probe.onRoundTrip = () => {};
      return broadcast(order, via);
    };
  };
  const unnoticed =
    (count: number): Change =>
    (run) => {
      run.leave(count);
      counting((_, index) => (index === 1 ? { connections: 20 } : {}))(run);
    };
  testWarnings(atFullTarget, [
    [
      'other programs connect for a while at full target',
      (run) => (run.strangers = 30),
      'WORKERS_DISAGREE',
      'after the broadcasts',
      30,
    ],
    [
      'connections closed at full target without notice by the workers',
      unnoticed(2),
      'PLATEAUS_UNUSABLE',
      'still count 2',
    ],
    ['an engine that leaves requests unanswered', ({ context }) => (context.link.unanswered = 1), 'GENERATOR_SILENT'],
    ['a probe whose connection closes, and no longer belongs to the run', endProbe, 'PROBE_INCOMPLETE', '3 of 3'],
  ]);
});

describe('counts of different origins', () => {
  /** @param read reads a count; the next ramp starts during the reading, and the run learns of it a little later */
  const duringRamp = async (t: TestContext, change: (run: FakeRun, extra: () => number) => void) => {
    const { run, time } = new ConductedRun(t);
    let extra = 0;
    change(run, () => extra);
    const checkpoints = new Checkpoints(run.context);
    await time.until(checkpoints.begin());
    run.arrive(10);
    await time.until(checkpoints.check({ at: 'plateau', count: 10 }));
    assert.deepEqual(run.codes, []);
    extra = 10;
    setTimeout(() => {
      run.arrive(10);
      extra = 0;
    }, 500);
    await time.until(checkpoints.check({ at: 'plateau', count: 10 }));
    return run.codes;
  };

  it('does not compare counts taken at different times: connections at the port during the next ramp', async (t) => {
    const codes = await duringRamp(t, ({ context, status }, extra) => {
      context.target.connections = async () => 2 + status.connected + extra();
    });
    assert.deepEqual(codes, []);
  });

  it('does not compare counts taken at different times: accepted connections during the next ramp', async (t) => {
    const codes = await duringRamp(t, (run, extra) => {
      counting((one, index) => (index === 1 ? { accepted: one.accepted + extra() } : {}))(run);
    });
    assert.deepEqual(codes, []);
  });

  it('allows the workers’ count to be higher by timed-out attempts that the server may accept later', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.arrive(10);
    run.status.failed = 2;
    const checkpoints = new Checkpoints(run.context);
    await time.until(checkpoints.check({ at: 'plateau', count: 10 }));
    run.strangers = 2;
    await time.until(checkpoints.check({ at: 'plateau', count: 10 }));
    assert.deepEqual(run.codes, []);
  });
});

describe('too high a count of the workers', () => {
  const counted = async (t: TestContext, arrange: (run: FakeRun) => void) => {
    const { run, time } = new ConductedRun(t);
    const checkpoints = new Checkpoints(run.context);
    await time.until(checkpoints.check({ at: 'plateau', count: 0 }));
    run.arrive(200);
    await time.until(checkpoints.check({ at: 'plateau', count: 200 }));
    arrange(run);
    await time.until(checkpoints.check({ at: 'broadcasts' }));
    const [warning] = run.noticed;
    return { ...warning, codes: run.codes };
  };

  it('unnoticed closes do not explain too high a count of the workers if the run closed no connection', async (t) => {
    const { codes, message = '', fix } = await counted(t, (run) => (run.others = 6));
    assert.deepEqual(codes, ['WORKERS_DISAGREE']);
    assertNames(message, ['count 206', 'generator 200', "none of the run's connections ended", 'accepted no others']);
    assert.doesNotMatch(`${message} ${fix}`, /firewall|other users/);
  });

  it('reports a workers’ count that exceeds the generator’s by more than the connections that just closed', async (t) => {
    const { codes, message } = await counted(t, (run) => {
      run.leave(2);
      run.others = 6;
    });
    assert.deepEqual(codes, ['WORKERS_DISAGREE']);
    assertNames(message, ['count 204', 'generator 198', 'only 2']);
  });

  it('other users may explain too high a count if the workers accepted more than the run made', async (t) => {
    const { codes, fix = '' } = await counted(t, (run) => {
      run.others = 6;
      run.strangers = 6;
    });
    assert.deepEqual(codes, ['WORKERS_DISAGREE']);
    assert.match(fix, /no other users/);
  });
});

it('suggests no missing control URL for too low a count if the adapter counts all servers', async (t) => {
  const { run, time } = new ConductedRun(t);
  run.arrive(10);
  run.others = -3;
  await time.until(new Checkpoints(run.context).check({ at: 'plateau', count: 10 }));
  const [{ code, message, fix = '' } = { code: '', message: '' }] = run.noticed;
  assert.equal(code, 'WORKERS_DISAGREE');
  assertNames(message, ['adapter counts 2 servers']);
  assert.doesNotMatch(fix, /control\.urls/);
});

describe("a standstill at which the workers' counts", () => {
  const DISAGREE = ['WORKERS_DISAGREE'];
  const nearer = (run: FakeRun, s: number) => {
    run.others = Math.max(1, 20 - s);
    if (s > 8) run.arrive(1);
  };
  const churn = (run: FakeRun) => {
    run.others = 1;
    if (run.status.connected === 0) run.arrive(1);
    else run.leave(1);
  };
  /** Number of other connections by seconds, the warnings, and the time of the check. */
  const CASES: [
    what: string,
    count: (run: FakeRun, s: number) => unknown,
    codes: string[],
    from: number,
    to: number,
  ][] = [
    ['agree after a moment', (run, s) => (run.others = s < 2.5 ? 1 : 0), [], 2.5, 3],
    ['never agree', (run) => (run.others = 3), DISAGREE, 3, 4],
    ['converge, however long it takes', (run, s) => (run.others = Math.max(0, 20 - s)), [], 20, 21],
    ['converge for more than two minutes', (run, s) => (run.others = 1000 - s), DISAGREE, 120, 130],
    ['have not converged when the next connections open', nearer, DISAGREE, 8, 10],
    ['cannot be compared, as connections open and close', churn, [], 6, 7],
  ];
  for (const [what, count, codes, fromSeconds, toSeconds] of CASES) {
    it(`the run waits, up to a limit, for worker counts that ${what}`, async (t) => {
      const { run, time } = new ConductedRun(t);
      count(run, 0);
      const counting = setInterval(() => count(run, time.nowMs / 1000), 500);
      await time.until(new Checkpoints(run.context).check({ at: 'plateau', count: 1 }));
      clearInterval(counting);
      assert.deepEqual(run.codes, codes);
      const seconds = time.nowMs / 1000;
      assert.ok(seconds >= fromSeconds && seconds < toSeconds, `${seconds} s`);
    });
  }

  it('the run waits only once for worker counts that never agree', async (t) => {
    const { run, time } = new ConductedRun(t);
    run.others = 3;
    const checkpoints = new Checkpoints(run.context);
    await time.until(checkpoints.check({ at: 'plateau', count: 1 }));
    const firstMs = time.nowMs;
    await time.until(checkpoints.check({ at: 'plateau', count: 2 }));
    assert.equal(time.nowMs, firstMs);
  });
});

it('the run reports differing counts if joins name the wrong worker, even if the sum is right', async (t) => {
  const conducted = new ConductedRun(t);
  const { run } = conducted;
  counting((_, index) => ({ connections: index === 0 ? 5 : 16 }))(run);
  const { snapshots } = run.context.link;
  const named = async (perWorker: Record<string, number>) => {
    run.context.link.snapshots = async () => (await snapshots()).map((one) => ({ ...one, perWorker }));
    await new Checkpoints(run.context).end();
    return run.codes;
  };
  run.arrive(20);
  assert.deepEqual(await conducted.time.until(named({ w0: 4, w1: 16 })), []);
  assert.deepEqual(await conducted.time.until(named({ w1: 4 })), [], 'most joins name no worker');
  assert.deepEqual(await conducted.time.until(named({ w0: 16, w1: 4 })), ['WORKERS_DISAGREE']);
  assertWarned(conducted, 'WORKERS_DISAGREE', 'after the broadcasts', 'w0', 5, 16, 'w1', 4);
  const { localMs, crossWorkerMs } = latencyFigures(run.measurements);
  assert.deepEqual([localMs, crossWorkerMs], [null, null]);
});

for (const [cpu, code] of [
  ['stands still', 'WORKERS_DISAGREE'],
  ['moves', undefined],
] as const) {
  it(`the CPU time of workers ${cpu} while 400 connections open: reports ${code ?? 'nothing'}`, async (t) => {
    const { run } = new ConductedRun(t);
    let cpuUs = 7;
    run.context.sampler.cpu = async () => ({ worker: cpu === 'moves' ? cpuUs++ : cpuUs });
    const busy = new BusyWorkers(run.context);
    const at = async (connections: number) => {
      run.context.population.connections = () => connections;
      await busy.check({ at: 'plateau', count: connections });
      return run.codes;
    };
    assert.deepEqual([await at(0), await at(399), await at(400)], [[], [], code ? [code] : []]);
  });
}
