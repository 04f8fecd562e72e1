/** A server process that ends during the run is the first finding, and its consequences are not reported beside it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findingsOfServer } from '../../helpers/findings.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startEndingServer } from '../../helpers/plain-server.ts';

const FLOW = [{ hold: true }];
const QUICK = { warmUp: 0, singleRoundTrips: 0, broadcasts: { count: 0 }, hold: 0.2 };

describe('a run', { concurrency: 2 }, () => {
  it('reports the ended process of the server once, with its connections, when it exits at its twelfth client', async (t) => {
    const { url, pid } = await startEndingServer(t, { most: 12 });
    const script = inProcessScript({ target: url }, { ...QUICK, workers: { pids: [pid] } }, {}, FLOW, 10);
    const { result, exitCode, output } = await startInProcess(script).ended;
    const [first, ...others] = findingsOfServer(result);
    assert.equal(first?.code, 'PROCESS_ENDED', output);
    assert.match(
      first.message,
      new RegExp(`^process ${pid} \\(.*ending-server.*\\) ended at [\\d.]+ s with \\d+ connections$`),
    );
    assert.deepEqual(
      others.map(({ code }) => code),
      [],
      output,
    );
    assert.deepEqual([result.outcome.status, exitCode], ['FAILED', 1], output);
  });

  it('reports the ended process of the server with its open files, when it crashes with EMFILE', async (t) => {
    const { url } = await startEndingServer(t, { openFiles: 124 });
    // The processes are not configured: the run watches those that listen on the port.
    const script = inProcessScript({ target: url }, QUICK, {}, FLOW, 10);
    const { result, exitCode, output } = await startInProcess(script).ended;
    const [first] = findingsOfServer(result);
    assert.equal(first?.code, 'PROCESS_ENDED', output);
    assert.match(first.message, /; it had \d+ of 124 open files, at least \d+ of which were no connections$/);
    assert.match(first.fix, /which files the server opens and does not close/);
    assert.deepEqual([result.outcome.status, exitCode], ['FAILED', 1], output);
  });
});
