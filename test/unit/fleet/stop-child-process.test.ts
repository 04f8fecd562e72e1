import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { stopChildProcess } from '../../../protocol/base/stop-child-process.ts';

for (const [what, onTerm, timeoutMs, ...ended] of [
  ['that exits on request is not killed, and not asked again', 'process.exit(7)', 60_000, 7, null],
  ['that does not exit is killed after the timeout', '', 1, null, 'SIGKILL'],
] as const) {
  test(`a child process ${what}`, async (t) => {
    const program = `process.on('SIGTERM', () => { ${onTerm} }); setInterval(() => {}, 1e6); console.log('up')`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await stopChildProcess(child, () => child.kill('SIGTERM'), timeoutMs);
    assert.deepEqual([child.exitCode, child.signalCode], ended);
    await stopChildProcess(child, () => assert.fail('asked again'), timeoutMs);
  });
}
