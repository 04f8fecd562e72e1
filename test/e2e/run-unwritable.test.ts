/** Runs whose files cannot be written: refused before the load, or ended in order. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { latestResult, quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';
import { mountSmallDisk, NO_MOUNTS, type SmallDisk } from '../helpers/small-disk.ts';

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
  it('ends in order when its disk becomes full during the broadcasts, with its answer on the console', async (t) => {
    const disk = mountSmallDisk(t);
    const run = runInto(t, disk.folder);
    await run.broadcast();
    disk.fill();
    assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
    assertReportedOnce(run, 'ENOSPC');
    assert.match(run.output(), /INVALID/);
    assert.ok(latestResult(disk.folder), 'the result of the last stage is whole');
  });

  it('ends in order when its folder is mounted read-only during the broadcasts', async (t) => {
    const disk = mountSmallDisk(t);
    const run = runInto(t, join(disk.folder, 'results'));
    await run.broadcast();
    disk.makeReadOnly();
    assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
    assertReportedOnce(run, 'EROFS');
  });

  const REFUSED: Record<string, [cause: string, (disk: SmallDisk) => void]> = {
    'has no room': ['ENOSPC', (disk) => disk.fill()],
    'is read-only': ['EROFS', (disk) => disk.makeReadOnly()],
  };
  for (const [what, [cause, spoil]] of Object.entries(REFUSED)) {
    it(`is refused before any load when its folder ${what}`, async (t) => {
      const disk = mountSmallDisk(t);
      const results = join(disk.folder, 'results');
      mkdirSync(results);
      spoil(disk);
      const run = runInto(t, results);
      assert.equal(await run.ended, EXIT_CODES.refused, run.output());
      assertReportedOnce(run, cause);
      assert.ok(!existsSync(results) || readdirSync(results).length === 0);
    });
  }
});
