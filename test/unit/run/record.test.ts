import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { REPORT_FILES } from '../../../plugin/result/report-files.ts';
import { RunRecord } from '../../../plugin/run/record/record.ts';
import { describeError } from '../../../protocol/errors.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

test('a result is written whole, and `latest` leads to it', (t) => {
  const { record, results } = open(t);
  record.write(perfectResult());
  assert.deepEqual(readResult(join(results, 'latest')), perfectResult());
});

test('a figure that cannot be is told by its key, and costs nothing of what was measured', (t) => {
  const { record, results } = open(t);
  const result = perfectResult();
  result.connections.peak = Number.NaN;
  assert.throws(
    () => record.write(result),
    (error: Error & { code?: string }) => error.code === 'UNEXPECTED' && /connections\.peak/.test(error.message),
  );
  assert.ok(!existsSync(join(results, 'latest')));
  const kept = JSON.parse(readFileSync(join(record.directory, 'result.unsound.json'), 'utf8'));
  assert.equal(kept.connections.peak, null);
  assert.deepEqual(kept.delivery, perfectResult().delivery);
});

test('two runs of one second have folders and ids of their own', (t) => {
  const { record, results } = open(t);
  const [second, third] = [new RunRecord(results, 'run'), new RunRecord(results, 'run')];
  assert.deepEqual([record.id, second.id, third.id], ['run', 'run-2', 'run-3']);
  assert.equal(second.directory, join(results, 'run-2'));
  record.write(perfectResult());
  second.write(perfectResult());
  assert.equal(readlinkSync(join(results, 'latest')), 'run-2');
});

for (const [what, put] of Object.entries({
  folder: (path: string) => mkdirSync(path),
  file: (path: string) => writeFileSync(path, 'mine'),
})) {
  test(`a ${what} in the place of \`latest\` is left alone, and said before anything is measured`, (t) => {
    const { results } = open(t);
    put(join(results, 'latest'));
    const before = readdirSync(results);
    assert.throws(() => new RunRecord(results, 'next'), { code: 'FILE_UNWRITABLE', fix: /move it away/ });
    assert.deepEqual(readdirSync(results), before);
  });
}

test('a folder that takes the place of `latest` during the run is left alone, too', (t) => {
  const { record, results } = open(t);
  mkdirSync(join(results, 'latest'));
  assert.throws(() => record.write(perfectResult()), { code: 'FILE_UNWRITABLE', message: /latest/ });
  assert.deepEqual(readdirSync(results).sort(), ['latest', 'run']);
  assert.deepEqual(readdirSync(record.directory), ['result.json']);
});

test('results that cannot have a folder are refused with the reason', (t) => {
  const { results } = open(t);
  writeFileSync(join(results, 'file'), '');
  assert.throws(
    () => new RunRecord(join(results, 'file/results'), 'run'),
    reads(/^FILE_UNWRITABLE: cannot create .*\n {2}cause: ENOTDIR.*\n {2}fix: set .*socketio-capacity\.results/),
  );
});

test('a folder that is removed during the run is reported, and not half made again', (t) => {
  const { record, results } = open(t);
  record.append('plateau', {});
  rmSync(results, { recursive: true });
  const unwritable = reads(/^FILE_UNWRITABLE: cannot write .*\n {2}cause: ENOENT.*\n {2}fix: .*leave its folder alone/);
  assert.throws(() => record.append('plateau', {}), unwritable);
  assert.throws(() => record.write(perfectResult()), unwritable);
  assert.equal(existsSync(results), false);
  record.discard();
});

test('a disk without room is reported, and has nothing half-written', async (t) => {
  const { results } = open(t);
  // Files may not grow beyond 1 KB, which looks the same: the first part of a file is written, and then no more.
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    import { RunRecord } from ${module('../../../plugin/run/record/record.ts')};
    import { writeReportFiles } from ${module('../../../plugin/result/report-files.ts')};
    import { perfectResult } from ${module('../../helpers/results.ts')};
    const record = new RunRecord(${JSON.stringify(results)}, 'full');
    const codeOf = (write) => { try { write(); } catch ({ code, cause }) { return [code, cause.code]; } };
    record.append('plateau', { room: 'enough' });
    console.log(JSON.stringify([
      codeOf(() => record.append('plateau', { layers: 'x'.repeat(2000) })),
      codeOf(() => record.write(perfectResult())),
      writeReportFiles(perfectResult(), record.directory).failed.some(({ code }) => code === 'FILE_UNWRITABLE'),
    ]));`;
  const node = `exec "${process.execPath}" --input-type=module`;
  const { stdout } = await execa('bash', ['-c', `ulimit -f 1; ${node}`], { input: script });
  assert.deepEqual(JSON.parse(stdout), [['FILE_UNWRITABLE', 'EFBIG'], ['FILE_UNWRITABLE', 'EFBIG'], true]);
  const folder = join(results, 'full');
  assert.match(readFileSync(join(folder, 'record.ndjson'), 'utf8'), /^\{.*"room":"enough"\}\n$/);
  const others = readdirSync(folder).filter((name) => name !== 'record.ndjson');
  assert.deepEqual(
    others.filter((name) => !REPORT_FILES.some(([file]) => file === name)),
    [],
  );
  assert.equal(existsSync(join(results, 'latest')), false);
});

/** As the user reads the error. */
function reads(text: RegExp): (error: unknown) => boolean {
  return (error) => text.test(describeError(error));
}

function open(t: { after(clean: () => void): void }): { record: RunRecord; results: string } {
  const results = mkdtempSync(join(tmpdir(), 'capacity-record-'));
  t.after(() => rmSync(results, { recursive: true, force: true }));
  return { record: new RunRecord(results, 'run'), results };
}
