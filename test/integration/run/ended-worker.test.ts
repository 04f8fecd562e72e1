/** A worker with a control port that ends during the run. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findingsOfServer } from '../../helpers/findings.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startLeakyServer } from '../../helpers/plain-server.ts';

it('a worker that is killed is the first finding, and the run has failed with exit code 1', async (t) => {
  const { url, control, pid } = await startLeakyServer(t, {});
  const script = inProcessScript({ target: url }, { control, warmUp: 0, hold: 5, broadcasts: { count: 0 } }, {}, [
    { hold: true },
  ]);
  const run = startInProcess(script);
  await run.reached('hold');
  process.kill(pid, 'SIGKILL');
  const { result, exitCode, output } = await run.ended;
  const [first] = findingsOfServer(result);
  assert.equal(first?.code, 'PROCESS_ENDED', output);
  assert.match(first.message, new RegExp(`^process ${pid} .* with 10 connections$`));
  assert.deepEqual([result.verdict.status, result.outcome.status, exitCode], ['SUSPECT', 'FAILED', 1], output);
});
