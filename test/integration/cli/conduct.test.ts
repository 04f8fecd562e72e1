/** Tests `npx socketio-capacity conduct` without hosts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { CLI } from '../../helpers/cli.ts';
import { quickScript } from '../../helpers/run.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('conduct exits with code 2 if the folder for its results cannot be created', async (t) => {
  const folder = tempFolder(t);
  const scenario = join(folder, 'scenario.json');
  writeFileSync(scenario, JSON.stringify(quickScript({ target: 'http://127.0.0.1:1' })));
  const args = [CLI, 'conduct', '--hosts', '2', '--listen', '127.0.0.1:0', scenario];
  const env = { CAPACITY_RESULTS: join(scenario, 'results') };
  const { exitCode, stderr } = await execa(process.execPath, args, { env, reject: false, timeout: 60_000 });
  assert.equal(exitCode, 2, stderr);
  assert.match(stderr, /^FILE_UNWRITABLE: /m);
});
