import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { REPORT_FILES, writeReportFiles } from '../../../plugin/result/report-files.ts';
import { perfectResult } from '../../helpers/results.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'report-files-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

it('writes all report files, and nothing else', (t) => {
  const directory = folder(t);
  const { written, failed } = writeReportFiles(perfectResult(), directory);
  assert.deepEqual(failed, []);
  assert.deepEqual(readdirSync(directory).sort(), written.toSorted());
  assert.equal(written.length, REPORT_FILES.length);
});

it('names a file that cannot be made, and writes the others', (t) => {
  const directory = folder(t);
  const broken = () => assert.fail('no chart');
  const { written, failed } = writeReportFiles(perfectResult(), directory, [
    ['broken.html', broken],
    ['fine.txt', () => 'fine'],
  ]);
  assert.deepEqual(written, ['fine.txt']);
  assert.equal(readFileSync(join(directory, 'fine.txt'), 'utf8'), 'fine');
  assert.equal(failed[0]?.code, 'FILE_UNWRITABLE');
  assert.match(failed[0]?.message ?? '', /broken\.html/);
});
