/**
 * Tests a generator that loses one of its processes. The result shows nothing about the deployment, and the exit code
 * is 4.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

const PHASES = [{ duration: 3, arrivalRate: 20, rampTo: 20 }, { pause: 3 }];

async function start(t: TestContext): Promise<StartedRun> {
  const app = await startApp(t);
  const own = { control: app.control, hold: 2 };
  return startRun(t, { script: quickScript({ target: app.url, phases: PHASES }, own) });
}

function killFleetProcess(run: StartedRun): void {
  const fleet = strays(run).find((process) => /fleet.process/.test(process));
  process.kill(Number.parseInt(fleet ?? assert.fail(strays(run).join('\n')), 10), 'SIGKILL');
}

async function assertUnknown(run: StartedRun, ...codes: string[]): Promise<void> {
  assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
  const { verdict, outcome, findings } = run.result() ?? assert.fail(run.output());
  assert.deepEqual([verdict.status, outcome.status], ['INVALID', 'UNKNOWN'], run.output());
  const found = findings.map(({ code }) => code);
  for (const code of codes) assert.ok(found.includes(code), run.output());
  for (const code of ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED']) assert.ok(!found.includes(code), run.output());
  assert.doesNotMatch(run.output(), /Failed:/);
}

describe('a run whose generator fails', { concurrency: 2 }, () => {
  for (const stage of ['ramp', 'hold']) {
    it(`a run exits with code 4 if a fleet process is killed during the ${stage}`, async (t) => {
      const run = await start(t);
      await run.reached(stage);
      killFleetProcess(run);
      await assertUnknown(run, 'FLEET_PROCESS_DIED');
    });
  }
});
