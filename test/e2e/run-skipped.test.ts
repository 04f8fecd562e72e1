/** Artillery skips arrivals while as many virtual users as `maxVusers` are present. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { quickScript, startRun } from '../helpers/run.ts';

it('a run counts them, says so, and does not wait for them', async (t) => {
  const ramp = { duration: 1, arrivalRate: 5, rampTo: 5, maxVusers: 6 };
  const script = quickScript({ phases: [ramp, { pause: 2 }, ramp, { pause: 2 }] }, { profile: 'embedded' });
  const run = startRun(t, { script });
  assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
  const { connections, verdict, memory } = run.result() ?? assert.fail(run.output());
  assert.deepEqual([connections.skipped, connections.peak, connections.failed], [4, 6, 0]);
  const codes = verdict.reasons.map(({ code }) => code);
  assert.ok(codes.includes('USERS_SKIPPED'), codes.join());
  const missed = verdict.reasons.find(({ code }) => code === 'TARGET_NOT_REACHED');
  assert.doesNotMatch(missed?.message ?? '', /after the ramp/, 'it does not wait for them');
  assert.deepEqual(
    memory.plateaus.map(({ connections }) => connections),
    [0, 5, 6],
  );
});
