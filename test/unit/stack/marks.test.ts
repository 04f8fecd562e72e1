import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { markedProcesses, stackMarkVariables } from '../../../server/stack/state/marks.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

async function sleeping(t: TestContext, options: object): Promise<number> {
  const child = spawn('sleep', ['60'], options);
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child.pid as number;
}

test('finds processes of a stack by an environment variable, not by their working folder', async (t) => {
  const stateDir = tempFolder(t);
  mkdirSync(join(stateDir, 'redis'));
  const env = { ...process.env, ...stackMarkVariables(stateDir) };
  const marked = await sleeping(t, { env });
  await sleeping(t, { env: { ...process.env, ...stackMarkVariables(`${stateDir}2`) } });
  await sleeping(t, { cwd: join(stateDir, 'redis') });
  const expected = process.platform === 'linux' ? [marked] : [];
  assert.deepEqual(
    markedProcesses(stateDir).map(({ pid }) => pid),
    expected,
  );
});
