/** Tests a worker with a control port that ends during the run. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../helpers/app.ts';
import { findingsOfServer } from '../../helpers/findings.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startLeakyServer } from '../../helpers/plain-server.ts';

it('a worker killed during a run is the first finding, and the run exits with code 1', async (t) => {
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
  assert.match(first.message, new RegExp(`^worker \\S+ \\(process ${pid}, .* with 10 connections$`));
  assert.deepEqual([result.verdict.status, result.outcome.status, exitCode], ['SUSPECT', 'FAILED', 1], output);
});

it('a worker without a visible process counts as ended if its clients are disconnected and its port is closed', async (t) => {
  const app = await startApp(t);
  const options = { control: app.control, warmUp: 0, hold: 5, broadcasts: { count: 0 } };
  const run = startInProcess(inProcessScript({ target: app.url }, options, {}, [{ hold: true }]));
  await run.reached('hold');
  // The process continues, like a process on another host, which the run cannot see.
  await app.close();
  const { result, exitCode, output } = await run.ended;
  const [first] = findingsOfServer(result);
  assert.equal(first?.code, 'PROCESS_ENDED', output);
  assert.match(first.message, / ended, after it had 1\d connections: its control port refuses connections/);
  assert.deepEqual([result.outcome.status, exitCode], ['FAILED', 1], output);
});
