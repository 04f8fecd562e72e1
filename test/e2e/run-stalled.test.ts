/** Tests a generator that stalls or has little CPU. The run reports the cause of the delay, and exits with code 3. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { cpuGroup, whyNoCpuGroup } from '../helpers/cpu-group.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

/** Duration of a stall in milliseconds. Several broadcasts are due in this time. */
const STALL_MS = 1000;
/**
 * Duration of a freeze in milliseconds. It affects about a tenth of the broadcasts, so the p99 of the event loops does
 * not show it.
 */
const FREEZE_MS = 400;

/**
 * Stops processes of a run during its broadcasts.
 * @returns the result of the run
 */
async function runStalled(
  t: TestContext,
  broadcasts: { count: number; interval: number },
  pidOf: (run: StartedRun) => number,
  ms: number,
) {
  const app = await startApp(t);
  const options = { control: app.control, live: true, broadcasts };
  const run = startRun(t, { script: quickScript({ target: app.url }, options) });
  // Waits for the first broadcast. The stage begins with requests to the fleet processes, which would wait for a
  // stopped process before anything is sent.
  await run.broadcast();
  const pid = pidOf(run);
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(ms);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
  const result = run.result() ?? assert.fail(run.output());
  const late = result.findings.find(({ code }) => code === 'GENERATOR_LATE');
  return { result, message: late?.message ?? run.output() };
}

describe('a run', { concurrency: true }, () => {
  it('a run is SUSPECT and reports the process if a fleet process stops for a while', async (t) => {
    const fleetOf = (run: StartedRun) => {
      const fleet = strays(run).find((process) => /fleet.process/.test(process));
      return Number.parseInt(fleet ?? assert.fail(strays(run).join('\n')), 10);
    };
    const { result, message } = await runStalled(t, { count: 10, interval: 0.3 }, fleetOf, STALL_MS);
    assert.match(message, /queued in the generator/);
    assert.ok((result.latency.behindSentinelMs?.max ?? 0) > STALL_MS / 2);
    assert.equal(result.delivery?.coverage, 1, 'late is not lost');
  });

  it('a run is SUSPECT if all of the generator freezes for a while, including its reference receiver', async (t) => {
    // Stops the whole process group, like a frozen container.
    const { result, message } = await runStalled(t, { count: 60, interval: 0.05 }, ({ pid }) => -pid, FREEZE_MS);
    // On a machine without idle CPU, the saturation explains every delay.
    if (!result.findings.some(({ code }) => code === 'MACHINE_SATURATED'))
      assert.match(message, /(stood still|late) .*during the broadcasts|queued in the generator/);
    assert.ok((result.latency.completionMs?.max ?? 0) > FREEZE_MS / 2);
  });

  it('a run with throttled CPU reports the number of cores that its quota allows', {
    skip: whyNoCpuGroup(),
  }, async (t) => {
    const { url: target, control } = await startApp(t);
    // Lowers the quota only for the ramp, so that the start of Artillery and the end of the run take no longer.
    const group = cpuGroup(t, 1.5);
    const phases = [{ duration: 1, arrivalRate: 100, rampTo: 100 }, { pause: 1 }];
    const script = quickScript({ target, phases }, { control, broadcasts: { count: 0 } });
    const run = startRun(t, { script, before: group.enter });
    await run.reached('ramp');
    group.allow(0.04);
    // Raises the quota after the ramp's window has ended.
    await run.reached('hold');
    group.allow(1.5);
    await run.ended;
    const { verdict, findings, environment, machine } = run.result() ?? assert.fail(run.output());
    assert.equal(environment.limits.cpuQuotaCores, 1.5);
    const { periods = 0, throttledPeriods = 0 } = machine?.throttled?.ramp ?? {};
    assert.ok(
      throttledPeriods > 0 && throttledPeriods <= periods,
      `${throttledPeriods} of ${periods}\n${run.output()}`,
    );
    assert.equal(verdict.status, 'SUSPECT');
    const [reason] = findings.filter(({ code }) => code === 'MACHINE_SATURATED');
    assert.match(reason?.message ?? run.output(), /\d+ of \d+ periods .* ramp.* 0\.04 cores/);
  });
});
