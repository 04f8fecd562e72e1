/**
 * Tests a server with `instrument(io, { profile: true })`. Profiles through its control port attribute memory and CPU
 * to functions.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startInstrumented } from '../../helpers/chat-server.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';

const OPTIONS = { broadcasts: { count: 2, interval: 0.2 }, hold: 0.2, singleRoundTrips: 1, warmUp: 10 };

test('a run profiles instrumented workers that allow it, after all measured windows', async (t) => {
  const { url, control } = await startInstrumented(t, () => {}, { profile: true });
  const script = inProcessScript({ target: url }, { ...OPTIONS, control, workers: { profile: true } });
  const { result, output } = await startInProcess(script).ended;
  const { connect, copy, absent } = result.cpuByPlace ?? {};
  assert.ok(connect && copy, `${absent} ${output}`);
  assert.equal(connect.units, 10);
  assert.ok(copy.units >= 10 && copy.packages.some(({ name }) => name === 'engine.io'), JSON.stringify(copy));
  assert.ok((result.memory.places?.packages.length ?? 0) > 2, JSON.stringify(result.memory.absent));
  assert.equal(result.stages.at(-2)?.name, 'profile');
  const profiledAt = result.stages.at(-2)?.t ?? 0;
  assert.ok(result.samples.every(({ t }) => t <= profiledAt + 1));
});
