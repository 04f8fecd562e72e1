import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import { measureFault } from '../../../plugin/run/fault/measure-fault.ts';
import type { FaultMeasured } from '../../../plugin/run/measurements/fault-measured.ts';
import { deploymentPartsOf } from '../../../plugin/run/measurements/worker-identity.ts';
import type { StackFault } from '../../../protocol/wire/fault-kinds.ts';
import type { StackState } from '../../../server/stack/stack.ts';
import { FakeRun, workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** State of a stack with two workers, nginx and Redis. */
const state = { workers: [{ id: 'w0' }, { id: 'w1' }], nginxPid: 7, redisNodes: [{ pid: 8 }] } as StackState;

class Deployment {
  readonly pids: Record<string, number> = { w0: 1, w1: 2 };
  readonly restarts: Record<string, number> = { w0: 0, w1: 0 };
  readonly parts: Record<string, string> = { nginx: '7', Redis: 'run-1' };

  restart(worker: string): void {
    this.pids[worker] = (this.pids[worker] ?? 0) + 10;
    this.restarts[worker] = (this.restarts[worker] ?? 0) + 1;
  }
}

type Happens = (deployment: Deployment, run: FakeRun) => void;

/** @param happens effect of the fault, 5 s after its start */
async function suffer(t: TestContext, kind: StackFault, happens: Happens) {
  const time = new VirtualTime(t);
  const run = new FakeRun();
  const deployment = new Deployment();
  const { context } = run;
  Object.assign(context, {
    deployment: async () => deploymentPartsOf('worker', deployment.parts),
    target: {
      ...context.target,
      stack: {
        fault: async () => happens(deployment, run),
        restarts: async () => ({ ...deployment.restarts }),
        state,
      },
    },
  } satisfies Partial<RunContext>);
  context.control.stats = async () =>
    Object.entries(deployment.pids).map(([worker, pid]) => ({ ...workerStats(worker, 0), pid, instance: `${pid}` }));
  run.arrive(10);
  const beganMs = time.nowMs;
  const over = (async () => {
    const checkpoints = new Checkpoints(context);
    await checkpoints.begin();
    await measureFault(context, checkpoints, { at: 5, kind }, { leadMs: 400, window: 'broadcasts' });
  })();
  await time.until(over);
  const measured = run.measurements.fault as FaultMeasured;
  return { run, measured, seconds: (time.nowMs - beganMs) / 1000 };
}

it('a planned fault starts on time, and ends when all connections have been reconnected for a second', async (t) => {
  const { run, measured, seconds } = await suffer(t, 'kill-worker', (deployment, { status }) => {
    deployment.restart('w0');
    status.away = 4;
    setTimeout(() => (status.away = 0), 3000);
  });
  assert.ok(seconds >= 9.3 && seconds < 10.5, String(seconds));
  const asked = run.asked.filter((what) => what.startsWith('fault'));
  assert.deepEqual(asked, ['fault begin', 'fault end']);
  assert.ok(measured.over && measured.over.atUs > measured.atUs);
});

it('a planned fault is not over while workers do not answer', async (t) => {
  const { seconds, run } = await suffer(t, 'reload-workers', (deployment, { context }) => {
    for (const worker of ['w0', 'w1']) deployment.restart(worker);
    let asked = 0;
    context.control.members = async () => {
      if (++asked < 5) throw new Error('no answer');
      return 10;
    };
  });
  assert.ok(seconds >= 5.4 + 1 + 4 * 0.25, String(seconds));
  assert.deepEqual(run.codes, []);
});

const restartTwice: Happens = (one) => {
  one.restart('w0');
  one.restart('w0');
};
const restartMore: Happens = (one) => {
  one.restart('w0');
  one.restart('w1');
  one.parts.nginx = '8';
};

/** Effect of the fault, parts that were replaced as planned, workers that restarted unexpectedly, and the warning. */
const CASES: [what: string, StackFault, Happens, replaced: string[], restarted: string[], codes: string[]][] = [
  ['replaces the planned part', 'kill-worker', (one) => one.restart('w0'), ['w0'], [], []],
  ['replaces Redis', 'restart-redis', ({ parts }) => Object.assign(parts, { Redis: 'run-2' }), ['Redis'], [], []],
  ['replaces nothing', 'kill-worker', () => {}, [], [], ['FAULT_FAILED']],
  ['restarts a worker twice', 'kill-worker', restartTwice, ['w0'], ['w0'], []],
  ['restarts more than the planned part', 'kill-worker', restartMore, ['w0'], ['w1'], ['DEPLOYMENT_CHANGED']],
];
for (const [what, kind, happens, replaced, restarted, codes] of CASES) {
  it(`a fault that ${what}: reports ${codes[0] ?? 'nothing'}`, async (t) => {
    const { run, measured } = await suffer(t, kind, happens);
    assert.deepEqual([measured.replaced, measured.restarted, run.codes], [replaced, restarted, codes]);
  });
}

it('reports why a planned fault could not be caused', async (t) => {
  const { run, measured } = await suffer(t, 'reload-nginx', () => {
    throw new Error('nginx is not there');
  });
  assert.match(run.noticed[0]?.message ?? '', /nginx is not there/);
  assert.deepEqual([run.codes, measured.tookMs], [['FAULT_FAILED'], undefined]);
});
