import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { ROOT } from '../../helpers/pages.ts';

const MODULE = pathToFileURL(join(ROOT, 'plugin/cli/own-process.ts')).href;

function run(command: string) {
  const code = `import { runAsProcess } from '${MODULE}'; await runAsProcess(async () => { ${command} });`;
  return execa(process.execPath, ['--input-type=module', '-e', code], { reject: false });
}

it('a command that waits for an impossible event exits with code 4, and reports it', async () => {
  const { exitCode, stderr } = await run('await new Promise(() => {});');
  assert.equal(exitCode, 4);
  assert.match(stderr, /^UNEXPECTED: the command waits for something that can no longer happen$/m);
});

it('an uncaught error exits with code 4, not with the code of a missed threshold', async () => {
  const inCallback = await run("setImmediate(() => { throw new Error('broken'); }); await new Promise(() => {});");
  assert.deepEqual([inCallback.exitCode, /Error: broken\n +at /.test(inCallback.stderr)], [4, true]);
  const rejected = await run("throw new Error('broken');");
  assert.deepEqual([rejected.exitCode, /Error: broken\n +at /.test(rejected.stderr)], [4, true]);
});

it('a finished command keeps its exit code', async () => {
  assert.deepEqual([(await run('process.exitCode = 3;')).exitCode, (await run('')).exitCode], [3, 0]);
});

it('a command with a full output disk exits with code 4 and a message, without a stack trace', () => {
  const code = `import { runAsProcess } from '${MODULE}'; await runAsProcess(async () => console.log('answer'));`;
  const full = openSync('/dev/full', 'w');
  const args = ['--input-type=module', '-e', code];
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
  closeSync(full);
  assert.equal(status, 4);
  assert.match(stderr, /^FILE_UNWRITABLE: cannot write to stdout: ENOSPC\n/);
  assert.doesNotMatch(stderr, /\n +at /);
});
