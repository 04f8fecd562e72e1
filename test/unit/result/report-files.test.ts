import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { REPORT_FILES, writeReportFiles } from '../../../plugin/result/report-files.ts';
import { perfectResult } from '../../helpers/results.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

it('writes all report files, and nothing else', (t) => {
  const directory = tempFolder(t);
  const { written, failed } = writeReportFiles(perfectResult(), directory);
  assert.deepEqual(failed, []);
  assert.deepEqual(readdirSync(directory).sort(), written.toSorted());
  assert.equal(written.length, REPORT_FILES.length);
});

it('reports a file that cannot be made, and writes the other report files', (t) => {
  const directory = tempFolder(t);
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
