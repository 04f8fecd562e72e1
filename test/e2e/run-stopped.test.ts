/** Tests runs that end early: by Ctrl-C, with the terminal, or because the deployment breaks. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { StackState } from '../../server/stack/state/state.ts';
import { startApp } from '../helpers/app.ts';
import { column } from '../helpers/columns.ts';
import { eventually } from '../helpers/poll.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

const app = await startApp({ after });

/** Starts a run on a running server. It lasts long enough for a test to stop it. */
function slowRun(t: TestContext): StartedRun {
  const broadcasts = { count: 30, interval: 0.2 };
  const options = { live: true, control: app.control, room: `stopped-${Math.random()}`, broadcasts };
  return startRun(t, { script: quickScript({ target: app.url }, options) });
}

/** Starts a run with its own stack. Its broadcasts last long enough for a test to break the stack. */
function stackRun(t: TestContext, env: Record<string, string> = {}): StartedRun {
  const options = { live: true, broadcasts: { count: 20, interval: 0.2 }, drain: { quiet: 0.3, deadline: 2 } };
  return startRun(t, { script: quickScript({}, options), env });
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
  const reason = result.findings.find(({ code }) => code === 'RUN_INCOMPLETE');
  assert.match(reason?.message ?? '', message);
  assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
  return result;
}

describe('a run', { concurrency: 2 }, () => {
  it('a run stopped by Ctrl-C during the start of the stack prints one line and leaves nothing', async (t) => {
    const run = stackRun(t);
    await eventually('a first process of the stack', () => run.stack()?.redisNodes[0]?.pid);
    run.interrupt();
    assert.equal(await run.ended, 130, run.output());
    assert.deepEqual(strays(run), [], 'the stack has ended when the prompt appears');
    assert.match(run.output(), /Stopped before anything was measured/);
    assert.deepEqual(readdirSync(run.directory), ['quick.yml']);
    assert.deepEqual(filesIn(run.stateDir), []);
  });

  for (const stage of ['ramp', 'broadcasts'] as const) {
    it(`a run stopped by Ctrl-C during ${stage} keeps its measurements`, async (t) => {
      const run = slowRun(t);
      await run.reached(stage);
      if (stage === 'broadcasts') await run.broadcast();
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

  it('a run whose terminal is closed writes its result, without secrets, and ends the stack', async (t) => {
    const run = stackRun(t);
    await run.reached('broadcasts');
    const { token, redisUrl = '' } = run.stack() ?? {};
    assert.ok(token && redisUrl);
    // Sends the signal to the process group of the terminal.
    process.kill(-(run.child.pid ?? 0), 'SIGHUP');
    await run.ended;
    assertIncomplete(run, /killed, or is still in progress \(stage: broadcasts\)/);
    await assertNothingLeft(run);
    const results = join(run.directory, 'results/latest');
    assert.deepEqual(readdirSync(results).sort(), ['artillery.log', 'result.json']);
    for (const name of readdirSync(results)) {
      const text = readFileSync(join(results, name), 'utf8');
      assert.ok(!text.includes(token) && !text.includes(new URL(redisUrl).password), name);
    }
  });

  const broken: Record<string, { break: (stack: StackState) => (number | undefined)[][]; names: string[] }> = {
    'nginx was reloaded and the PM2 daemon killed': {
      break: ({ nginxPid, pm2Pid }) => [[pm2Pid], [nginxPid]],
      names: ['PM2', 'nginx'],
    },
    'a worker and Redis died together': {
      break: ({ workers, redisNodes }) => [[workers[0]?.pid, redisNodes[0]?.pid], []],
      names: ['w0', 'Redis'],
    },
  };
  for (const [event, { break: processesOf, names }] of Object.entries(broken)) {
    it(`a run reports that ${event}`, async (t) => {
      const run = stackRun(t, { WORKERS: '2' });
      // Waits for the first broadcast. The stage begins with requests to the workers, and a missing reply would end the
      // run.
      await run.broadcast();
      const [killed = [], reloaded = []] = processesOf(run.stack() ?? assert.fail(run.output()));
      for (const pid of killed) process.kill(pid ?? assert.fail(run.output()), 'SIGKILL');
      for (const pid of reloaded) process.kill(pid ?? assert.fail(run.output()), 'SIGHUP');
      // The run fails if it can continue without the killed part. Otherwise it is incomplete.
      const expected: number[] = [EXIT_CODES.worse, EXIT_CODES.invalid];
      assert.ok(expected.includes((await run.ended) ?? -1), run.output());
      const messages = column(run.result()?.findings ?? [], 'message').join();
      for (const name of names) assert.ok(messages.includes(name), `${name}: ${run.output()}`);
      assert.doesNotMatch(run.output(), /TypeError|\n\s+at |Unhandled/);
      await assertNothingLeft(run);
    });
  }
});
