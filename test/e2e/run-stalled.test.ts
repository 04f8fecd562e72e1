/** A stalled generator: the run reports that the generator caused the delay, and ends with exit code 3. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

/** Several broadcasts fall into it. */
const STALL_MS = 1000;
/** Hardly more than a tenth of the broadcasts: the p99 of the event loops does not show it. */
const FREEZE_MS = 400;

/** A run against a worker of its own, in which the processes stand still while it broadcasts. @returns its result */
async function stalled(
  t: TestContext,
  broadcasts: { count: number; interval: number },
  pidOf: (run: StartedRun) => number,
  ms: number,
) {
  const app = await startApp(t);
  const run = startRun(t, { script: quickScript({ target: app.url }, { control: app.control, broadcasts }) });
  // The stage begins with questions to the fleet, which would wait for a stopped process before anything is sent.
  await run.noted('broadcast');
  const pid = pidOf(run);
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(ms);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
  const result = run.result() ?? assert.fail(run.output());
  const late = result.verdict.reasons.find(({ code }) => code === 'GENERATOR_LATE');
  return { result, message: late?.message ?? run.output() };
}

describe('of a generator that stands still', { concurrency: true }, () => {
  it('a fleet process makes the run SUSPECT, and is named', async (t) => {
    const fleetOf = (run: StartedRun) => {
      const fleet = strays(run).find((process) => /fleet.process/.test(process));
      return Number.parseInt(fleet ?? assert.fail(strays(run).join('\n')), 10);
    };
    const { result, message } = await stalled(t, { count: 10, interval: 0.3 }, fleetOf, STALL_MS);
    assert.match(message, /queued in the generator/);
    assert.ok((result.latency.behindSentinelMs?.max ?? 0) > STALL_MS / 2);
    assert.equal(result.delivery?.coverage, 1, 'late is not lost');
  });

  it('all of its processes, with the reference receiver, make the run SUSPECT', async (t) => {
    // As a container that is frozen: all processes of its group.
    const { result, message } = await stalled(t, { count: 60, interval: 0.05 }, ({ pid }) => -pid, FREEZE_MS);
    // On a busy machine, its event loops are late all the time, which says more.
    assert.match(message, /(stood still|late) .*during the broadcasts|queued in the generator/);
    assert.ok((result.latency.completionMs?.max ?? 0) > FREEZE_MS / 2);
  });
});
