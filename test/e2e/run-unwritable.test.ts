/** Tests runs whose files can no longer be written. They print a result on the console. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { latestResult, quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';
import { mountSmallDisk, NO_MOUNTS } from '../helpers/small-disk.ts';

const app = await startApp({ after });

function runInto(t: TestContext, results: string): StartedRun {
  const options = { control: app.control, results, live: true, broadcasts: { count: 50, interval: 0.1 } };
  return startRun(t, { script: quickScript({ target: app.url }, options) });
}

function assertReportedOnce(run: StartedRun, cause: string): void {
  const output = run.output();
  assert.equal(output.split('FILE_UNWRITABLE: ').length, 2, output);
  assert.match(output, new RegExp(`FILE_UNWRITABLE: cannot .*\\n {2}cause: ${cause}.*\\n {2}fix: \\S`));
  assert.doesNotMatch(output, /\n\s+at |Unhandled|uncaught/i);
  assert.deepEqual(strays(run), []);
}

describe('a run whose files cannot be written', { concurrency: 3, skip: NO_MOUNTS }, () => {
  it('a run reports the cause and its verdict when its disk becomes full during the broadcasts', async (t) => {
    const disk = mountSmallDisk(t);
    const run = runInto(t, disk.folder);
    await run.broadcast();
    disk.fill();
    assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
    assertReportedOnce(run, 'ENOSPC');
    assert.match(run.output(), /INVALID/);
    assert.ok(latestResult(disk.folder), 'the result of the last stage is whole');
  });

  it('a run reports the cause when its folder is mounted read-only during the broadcasts', async (t) => {
    const disk = mountSmallDisk(t);
    const run = runInto(t, join(disk.folder, 'results'));
    await run.broadcast();
    disk.makeReadOnly();
    assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
    assertReportedOnce(run, 'EROFS');
  });
});
