/** A planned fault, as a run causes and follows it. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import { measureFault } from '../../../plugin/run/fault/measure.ts';
import type { FaultMeasured } from '../../../plugin/run/measurements/fault.ts';
import type { FaultOptions } from '../../../plugin/script/options/fault-options.ts';
import type { StackFault } from '../../../protocol/fault.ts';
import { FakeRun, workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const PARTS: Record<StackFault, string[]> = {
  'kill-worker': ['w0'],
  'reload-workers': ['w0', 'w1'],
  'reload-nginx': ['nginx'],
  'restart-redis': ['Redis'],
};

class Deployment {
  readonly pids: Record<string, number> = { w0: 1, w1: 2 };
  readonly restarts: Record<string, number> = { w0: 0, w1: 0 };
  readonly parts: Record<string, string> = { nginx: '7', Redis: 'run-1' };

  restart(worker: string): void {
    this.pids[worker] = (this.pids[worker] ?? 0) + 10;
    this.restarts[worker] = (this.restarts[worker] ?? 0) + 1;
  }
}

/** @param happens when the fault comes */
async function suffer(
  t: TestContext,
  fault: Pick<FaultOptions, 'kind' | 'command'>,
  happens: (deployment: Deployment, run: FakeRun) => void | Promise<void>,
): Promise<{ run: FakeRun; measured: FaultMeasured; seconds: number }> {
  const time = new VirtualTime(t);
  const run = new FakeRun();
  const deployment = new Deployment();
  const { context } = run;
  Object.assign(context, {
    deployment: async () => ({ ...deployment.parts }),
    target: {
      ...context.target,
      stack: {
        fault: async () => happens(deployment, run),
        restarts: async () => ({ ...deployment.restarts }),
        whyNot: () => undefined,
        partsReplacedBy: (kind) => PARTS[kind],
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
    await measureFault(context, checkpoints, { at: 5, ...fault }, { leadMs: 400, window: 'broadcasts' });
  })();
  await time.until(over);
  return { run, measured: run.measurements.fault as FaultMeasured, seconds: (time.nowMs - beganMs) / 1000 };
}

it('comes when it is due, and is over when all have been back for a second', async (t) => {
  const { run, measured, seconds } = await suffer(t, { kind: 'kill-worker' }, (deployment, { status }) => {
    deployment.restart('w0');
    status.away = 4;
    setTimeout(() => {
      status.away = 0;
    }, 3000);
  });
  assert.ok(seconds >= 9.3 && seconds < 10.5, String(seconds));
  assert.deepEqual(
    run.asked.filter((what) => what.startsWith('fault')),
    ['fault begin', 'fault end'],
  );
  assert.deepEqual([measured.replaced, measured.restarted, run.codes], [['w0'], [], []]);
  assert.ok(measured.over && measured.over.atUs > measured.atUs);
});

it('waits for workers that do not answer yet', async (t) => {
  const { seconds, run } = await suffer(t, { kind: 'reload-workers' }, (deployment, { context }) => {
    deployment.restart('w0');
    deployment.restart('w1');
    let asked = 0;
    context.control.members = async () => {
      if (++asked < 5) throw new Error('no answer');
      return 10;
    };
  });
  assert.ok(seconds >= 5.4 + 1 + 4 * 0.25, String(seconds));
  assert.deepEqual(run.codes, []);
});

it('knows which part it was to replace, and later ones are compared with what came of it', async (t) => {
  const { measured, run } = await suffer(t, { kind: 'restart-redis' }, ({ parts }) => {
    parts.Redis = 'run-2';
  });
  assert.deepEqual([measured.replaced, run.codes], [['Redis'], []]);
});

it('notices what is replaced or restarts beside it', async (t) => {
  const { measured, run } = await suffer(t, { kind: 'kill-worker' }, (deployment) => {
    deployment.restart('w0');
    deployment.restart('w1');
    deployment.parts.nginx = '8';
  });
  assert.deepEqual([measured.replaced, measured.restarted], [['w0'], ['w1']]);
  assert.deepEqual(run.codes, ['DEPLOYMENT_CHANGED']);
});

it('notices a worker that restarts twice', async (t) => {
  const { measured } = await suffer(t, { kind: 'kill-worker' }, (deployment) => {
    deployment.restart('w0');
    deployment.restart('w0');
  });
  assert.deepEqual(measured.restarted, ['w0']);
});

it('has failed if nothing was replaced', async (t) => {
  const idle = await suffer(t, { kind: 'kill-worker' }, () => {});
  assert.deepEqual([idle.run.codes, idle.measured.replaced], [['FAULT_FAILED'], []]);
});

it('says why causing it failed', async (t) => {
  const { run, measured } = await suffer(t, { kind: 'reload-nginx' }, () => {
    throw new Error('nginx is not there');
  });
  assert.match(run.measurements.warnings[0]?.message ?? '', /nginx is not there/);
  assert.deepEqual([run.codes, measured.tookMs], [['FAULT_FAILED'], undefined]);
});
