import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { endChild } from '../../../protocol/end-child.ts';

/** One that does `onTerm` when it is asked to end. */
async function start(context: TestContext, onTerm: string): Promise<ChildProcess> {
  const program = `process.on('SIGTERM', () => { ${onTerm} }); setInterval(() => {}, 1e6); console.log('up')`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

test('a child that does as it is asked is not killed, and not asked again', async (context) => {
  const child = await start(context, 'process.exit(7)');
  await endChild(child, () => child.kill('SIGTERM'), 60_000);
  assert.deepEqual([child.exitCode, child.signalCode], [7, null]);
  await endChild(child, () => assert.fail('asked again'), 60_000);
});

test('a child that does not is killed when its time is up', async (context) => {
  const child = await start(context, '');
  await endChild(child, () => child.kill('SIGTERM'), 1);
  assert.equal(child.signalCode, 'SIGKILL');
});
