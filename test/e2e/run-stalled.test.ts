/** A stalled generator: the run reports that the generator caused the delay, and ends with exit code 3. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { quickScript, startRun, strays } from '../helpers/run.ts';

/** Several broadcasts fall into it. */
const STALL_MS = 1000;
const broadcasts = { count: 10, interval: 0.3 };
/** Hardly more than a tenth of the broadcasts: the p99 of the event loops does not show it. */
const FREEZE_MS = 400;

/** A run against a worker of its own. */
async function start(t: TestContext, broadcasts: { count: number; interval: number }) {
  const app = await startApp();
  t.after(() => app.close());
  const control = { urls: [app.controlUrl], token: TOKEN };
  return startRun(t, { script: quickScript({ target: app.url }, { control, broadcasts }) });
}

describe('of a generator that stands still', { concurrency: true }, () => {
  it('a fleet process makes the run SUSPECT, and is named', async (t) => {
    const run = await start(t, broadcasts);
    // The stage begins with questions to the fleet, which would wait for a stopped process before anything is sent.
    await run.noted('broadcast');
    const fleet = strays(run).find((process) => /fleet.process/.test(process));
    const pid = Number.parseInt(fleet ?? '', 10);
    assert.ok(pid > 0, `no fleet process among:\n${strays(run).join('\n')}`);
    process.kill(pid, 'SIGSTOP');
    try {
      await delay(STALL_MS);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
    const result = run.result();
    assert.equal(result?.verdict.status, 'SUSPECT');
    const reason = result.verdict.reasons.find(({ code }) => code === 'GENERATOR_LATE');
    assert.match(reason?.message ?? run.output(), /queued in the generator/);
    assert.ok((result.latency.behindSentinelMs?.max ?? 0) > STALL_MS / 2);
    assert.equal(result.delivery?.coverage, 1, 'late is not lost');
  });

  it('all of its processes, with the reference receiver, make the run SUSPECT', async (t) => {
    const run = await start(t, { count: 60, interval: 0.05 });
    await run.noted('broadcast');
    // As a container that is frozen: all processes of its group.
    const group = -(run.child.pid as number);
    process.kill(group, 'SIGSTOP');
    try {
      await delay(FREEZE_MS);
    } finally {
      process.kill(group, 'SIGCONT');
    }
    assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
    const result = run.result();
    const reason = result?.verdict.reasons.find(({ code }) => code === 'GENERATOR_LATE');
    // On a busy machine, its event loops are late all the time, which says more.
    assert.match(reason?.message ?? run.output(), /(stood still|late) .*during the broadcasts|queued in the generator/);
    assert.ok((result?.latency.completionMs?.max ?? 0) > FREEZE_MS / 2);
  });
});
