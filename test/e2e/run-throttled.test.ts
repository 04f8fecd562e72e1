/** A generator in a container with little CPU: the quota is named as the cause of what it causes. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../helpers/app.ts';
import { cpuGroup, whyNoCpuGroup } from '../helpers/cpu-group.ts';
import { quickScript, startRun } from '../helpers/run.ts';

it('a run whose generator is throttled says so, with the cores that it may use', {
  skip: whyNoCpuGroup(),
}, async (t) => {
  const app = await startApp(t);
  // The ramp has little; the start of Artillery and the end of the run need not wait for it.
  const group = cpuGroup(t, 1.5);
  const control = app.control;
  const phases = [{ duration: 1, arrivalRate: 100, rampTo: 100 }, { pause: 1 }];
  const script = quickScript({ target: app.url, phases }, { control, broadcasts: { count: 0 } });
  const run = startRun(t, { script, before: group.enter });
  await run.reached('ramp');
  // Less than 100 connects cost, on a fast machine, too.
  group.allow(0.04);
  // By then, the window of the ramp has ended.
  await run.reached('hold');
  group.allow(1.5);
  await run.ended;
  const result = run.result();
  assert.ok(result, run.output());
  const { verdict, environment, machine } = result;
  assert.equal(environment.limits.cpuQuotaCores, 1.5);
  const { periods = 0, throttledPeriods = 0 } = machine?.throttled?.ramp ?? {};
  assert.ok(throttledPeriods > 0 && throttledPeriods <= periods, `${throttledPeriods} of ${periods}\n${run.output()}`);
  const [reason] = verdict.reasons.filter(({ code }) => code === 'MACHINE_SATURATED');
  assert.match(reason?.message ?? run.output(), /\d+ of \d+ periods .* ramp.* 0\.04 cores/);
  assert.equal(verdict.status, 'SUSPECT');
});
