/** Runs that end early: by Ctrl-C in each stage, by SIGKILL, or because the deployment breaks. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import type { Result } from '../../protocol/result/result.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { eventually } from '../helpers/poll.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

const app = await startApp();
after(() => app.close());

/** On a server that is up, with time in each stage to stop it there. */
function slowRun(t: TestContext): StartedRun {
  const script = quickScript(
    { target: app.url },
    {
      control: { urls: [app.controlUrl], token: TOKEN },
      room: `stopped-${Math.random()}`,
      hold: 3,
      broadcasts: { count: 30, interval: 0.2 },
    },
  );
  return startRun(t, { script });
}

/** With a stack of its own, broadcasts for long enough to break it. */
async function stackRun(t: TestContext, env: Record<string, string> = {}): Promise<StartedRun> {
  const [port] = await freePorts(1);
  const broadcasts = { count: 20, interval: 0.2 };
  return startRun(t, { script: quickScript({ target: `http://127.0.0.1:${port}` }, { broadcasts }), env });
}

async function assertNothingLeft(run: StartedRun): Promise<void> {
  await eventually('end of all processes', () => strays(run).length === 0);
  assert.deepEqual(filesIn(run.stateDir), [], 'the stack’s state is gone');
}

function filesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : [];
}

function assertIncomplete(run: StartedRun, message: RegExp): Result {
  const result = run.result();
  assert.ok(result, run.output());
  assert.equal(result.run.complete, false);
  assert.equal(result.verdict.status, 'INVALID');
  const reason = result.verdict.reasons.find(({ code }) => code === 'RUN_INCOMPLETE');
  assert.match(reason?.message ?? '', message);
  assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
  return result;
}

describe('Ctrl-C', { concurrency: 2 }, () => {
  it('during the start of the stack leaves nothing but one line of output', async (t) => {
    const run = await stackRun(t);
    await eventually('a first process of the stack', () => run.stack()?.redisNodes[0]);
    run.interrupt();
    assert.equal(await run.ended, 130, run.output());
    assert.deepEqual(strays(run), [], 'also the stack is gone when the prompt comes back');
    assert.match(run.output(), /Stopped before anything was measured/);
    assert.deepEqual(readdirSync(run.directory), ['quick.yml']);
    assert.deepEqual(filesIn(run.stateDir), []);
  });

  for (const stage of ['ramp', 'broadcasts'] as const) {
    it(`during ${stage} keeps what was measured until then`, async (t) => {
      const run = slowRun(t);
      await run.reached(stage);
      run.interrupt();
      assert.equal(await run.ended, 130, run.output());
      const result = assertIncomplete(run, new RegExp(`stopped by the user \\(stage: ${stage}`));
      assert.ok(result.memory.plateaus.length >= { ramp: 1, broadcasts: 2 }[stage], 'plateaus');
      if (stage === 'broadcasts') {
        assert.equal(result.connections.peak, 10);
        assert.ok(result.delivery);
        const { expected, received, lostConnected, lostDisconnected } = result.delivery;
        assert.equal(expected, received + lostConnected + lostDisconnected);
      }
      assert.match(run.output(), /Result: results\//);
      await assertNothingLeft(run);
    });
  }
});

describe('a run that ends unexpectedly', { concurrency: 2 }, () => {
  it('by SIGKILL leaves its record, and its stack ends', async (t) => {
    const run = await stackRun(t);
    await run.reached('broadcasts');
    run.child.kill('SIGKILL');
    await run.ended;
    const result = assertIncomplete(run, /killed, or is still in progress \(stage: broadcasts/);
    assert.equal(result.connections.peak, 10);
    assert.ok(readFileSync(join(run.directory, 'results/latest/record.ndjson'), 'utf8').includes('"type":"plateau"'));
    await assertNothingLeft(run);
  });

  it('because the terminal was closed leaves its record, without secrets, and takes the stack along', async (t) => {
    const run = await stackRun(t);
    await run.reached('broadcasts');
    const { token, redisUrl = '' } = run.stack() ?? {};
    assert.ok(token && redisUrl);
    // To everything in the terminal's process group.
    process.kill(-(run.child.pid ?? 0), 'SIGHUP');
    await run.ended;
    assertIncomplete(run, /killed, or is still in progress \(stage: broadcasts\)/);
    await assertNothingLeft(run);
    const results = join(run.directory, 'results/latest');
    assert.deepEqual(readdirSync(results).sort(), ['artillery.log', 'record.ndjson', 'result.json']);
    for (const name of readdirSync(results)) {
      const text = readFileSync(join(results, name), 'utf8');
      assert.ok(!text.includes(token) && !text.includes(new URL(redisUrl).password), name);
    }
  });

  it('because the results folder was removed reports it, and creates no new one', async (t) => {
    const run = slowRun(t);
    await run.reached('hold');
    rmSync(join(run.directory, 'results'), { recursive: true });
    assert.equal(await run.ended, 4, run.output());
    assert.match(run.output(), /FILE_UNWRITABLE: cannot write results\/.*\n {2}cause: ENOENT.*\n {2}fix: /);
    assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
    assert.deepEqual(readdirSync(run.directory), ['quick.yml']);
    await assertNothingLeft(run);
  });

  it('because a worker died names that worker', async (t) => {
    const run = await stackRun(t);
    await run.reached('broadcasts');
    const [worker] = run.stack()?.workers ?? [];
    assert.ok(worker && worker.pid > 0);
    process.kill(worker.pid, 'SIGKILL');
    assert.equal(await run.ended, 4, run.output());
    const result = run.result();
    assert.equal(result?.verdict.status, 'INVALID');
    const restarted = result.verdict.reasons.find(({ code }) => code === 'DEPLOYMENT_CHANGED');
    assert.match(restarted?.message ?? run.output(), new RegExp(`^${worker.id} restarted`));
    assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
    await assertNothingLeft(run);
  });

  it('in which nginx was reloaded and the PM2 daemon killed names both', async (t) => {
    const run = await stackRun(t);
    await run.reached('broadcasts');
    const { nginxPid, pm2Pid } = run.stack() ?? {};
    assert.ok(nginxPid && pm2Pid);
    process.kill(nginxPid, 'SIGHUP');
    process.kill(pm2Pid, 'SIGKILL');
    assert.equal(await run.ended, 4, run.output());
    const changed = run.result()?.verdict.reasons.find(({ code }) => code === 'DEPLOYMENT_CHANGED');
    assert.match(changed?.message ?? run.output(), /\bPM2\b.*\bnginx\b/);
    await assertNothingLeft(run);
  });

  it('because Redis died reports that', async (t) => {
    const run = await stackRun(t, { WORKERS: '2' });
    await run.reached('broadcasts');
    const redisPid = run.stack()?.redisNodes[0]?.pid;
    assert.ok(redisPid);
    process.kill(redisPid, 'SIGKILL');
    assert.equal(await run.ended, 4, run.output());
    const reasons = run.result()?.verdict.reasons ?? [];
    assert.match(JSON.stringify(reasons), /Redis/, run.output());
    assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
    await assertNothingLeft(run);
  });
});
