import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { REPORT_FILES } from '../../../plugin/result/report-files.ts';
import { RunFolder } from '../../../plugin/run/folder/run-folder.ts';
import { scenarioFile, scenarioName } from '../../../plugin/run/measurements/run-id.ts';
import { describeError } from '../../../protocol/codes/errors.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

test('a run of a scenario file is named after the file, and its command has the given path', () => {
  assert.deepEqual([scenarioName('load/chat.yaml'), scenarioFile('load/chat.yaml')], ['chat', 'load/chat.yaml']);
  assert.equal(scenarioFile('/home/somebody/load/chat.yaml'), 'chat.yaml');
});

test('writes a result as a whole, and links `latest` to it', (t) => {
  const { runFolder, results } = open(t);
  runFolder.write(perfectResult());
  assert.deepEqual(readResult(join(results, 'latest')), perfectResult());
});

test('reports an impossible figure by its key, and keeps all other figures of the result', (t) => {
  const { runFolder, results } = open(t);
  const result = perfectResult();
  result.connections.peak = Number.NaN;
  assert.throws(() => runFolder.write(result), { code: 'UNEXPECTED', message: /connections\.peak/ });
  assert.ok(!fs.existsSync(join(results, 'latest')));
  const kept = JSON.parse(fs.readFileSync(join(runFolder.directory, 'result.unsound.json'), 'utf8'));
  assert.deepEqual([kept.connections.peak, kept.delivery], [null, perfectResult().delivery]);
});

test('two runs that start in the same second have separate folders and ids', (t) => {
  const { runFolder, results } = open(t);
  const [second, third] = [new RunFolder(results, 'run'), new RunFolder(results, 'run')];
  assert.deepEqual([runFolder.id, second.id, third.id], ['run', 'run-2', 'run-3']);
  assert.equal(second.directory, join(results, 'run-2'));
  for (const one of [runFolder, second]) one.write(perfectResult());
  assert.equal(fs.readlinkSync(join(results, 'latest')), 'run-2');
});

for (const [what, put] of Object.entries({
  folder: (path: string) => fs.mkdirSync(path),
  file: (path: string) => fs.writeFileSync(path, 'mine'),
})) {
  test(`keeps a ${what} named \`latest\`, and reports it before the measurement`, (t) => {
    const { results } = open(t);
    put(join(results, 'latest'));
    const before = fs.readdirSync(results);
    assert.throws(() => new RunFolder(results, 'next'), { code: 'FILE_UNWRITABLE' });
    assert.deepEqual(fs.readdirSync(results), before);
  });
}

test('keeps a folder named `latest` that appears during the run', (t) => {
  const { runFolder, results } = open(t);
  fs.mkdirSync(join(results, 'latest'));
  assert.equal(runFolder.write(perfectResult()), join(runFolder.directory, 'result.json'));
  assert.match(runFolder.files.failure?.message ?? '', /latest/);
  assert.deepEqual(fs.readdirSync(results).sort(), ['latest', 'run']);
  assert.deepEqual(fs.readdirSync(runFolder.directory), ['result.json']);
});

test('reports why a folder for results cannot be made', (t) => {
  const { results } = open(t);
  fs.writeFileSync(join(results, 'file'), '');
  assert.throws(() => new RunFolder(join(results, 'file/results'), 'run'), unwritable('ENOTDIR'));
});

test('reports a folder that is removed during the run, and does not make it again', (t) => {
  const { runFolder, results } = open(t);
  fs.rmSync(results, { recursive: true });
  const failures: unknown[] = [];
  runFolder.files.onFailed = (error) => failures.push(error);
  assert.equal(runFolder.files.append('artillery.log', 'text'), false);
  assert.equal(runFolder.write(perfectResult()), undefined);
  assert.equal(failures.length, 1, 'the first failure only');
  assert.ok(unwritable('ENOENT')(failures[0]));
  assert.equal(fs.existsSync(results), false);
  runFolder.discard();
});

test('reports a full disk, and leaves no partial file', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { results } = open(t);
  // A limit of 1 KB for files simulates a full disk. The first part of a file is written, and nothing more.
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    import { execFileSync } from 'node:child_process';
    import { RunFolder } from ${module('../../../plugin/run/folder/run-folder.ts')};
    import { writeReportFiles } from ${module('../../../plugin/result/report-files.ts')};
    import { perfectResult } from ${module('../../helpers/results.ts')};
    const runFolder = new RunFolder(${JSON.stringify(results)}, 'full');
    execFileSync('prlimit', ['--fsize=1024', '--pid', String(process.pid)]);
    runFolder.files.append('artillery.log', 'enough');
    runFolder.files.append('artillery.log', 'x'.repeat(2000));
    const { code, cause } = runFolder.files.failure;
    console.log([code, cause.code].join());
    console.log(runFolder.write(perfectResult()));
    console.log(writeReportFiles(perfectResult(), runFolder.directory).failed.some(({ code }) => code === 'FILE_UNWRITABLE'));`;
  const { stdout } = await execa(process.execPath, ['--input-type=module'], { input: script });
  assert.deepEqual(stdout.split('\n'), ['FILE_UNWRITABLE,EFBIG', 'undefined', 'true']);
  const folder = join(results, 'full');
  assert.equal(fs.readFileSync(join(folder, 'artillery.log'), 'utf8'), 'enough');
  const known = ['artillery.log', ...REPORT_FILES.map(([file]) => file)];
  const others = fs.readdirSync(folder).filter((name) => !known.includes(name));
  assert.deepEqual([others, fs.existsSync(join(results, 'latest'))], [[], false]);
});

/** Returns a check for an error in the form that users read, with cause and fix. */
function unwritable(cause: string): (error: unknown) => boolean {
  return (error) => new RegExp(`^FILE_UNWRITABLE: .*\\n {2}cause: ${cause}.*\\n {2}fix: `).test(describeError(error));
}

function open(t: { after(clean: () => void): void }): { runFolder: RunFolder; results: string } {
  const results = fs.mkdtempSync(join(tmpdir(), 'capacity-run-folder-'));
  t.after(() => fs.rmSync(results, { recursive: true, force: true }));
  return { runFolder: new RunFolder(results, 'run'), results };
}
