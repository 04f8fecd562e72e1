/**
 * Tests a user's own command as the fault. The fault is over when the command exits, whatever processes it has started.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { causePlannedFault } from '../../../plugin/run/fault/cause.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const run = (command: string[], signal = NEVER, timeoutMs?: number) =>
  causePlannedFault({ kind: 'command', command, at: 1 }, { stack: undefined, signal }, timeoutMs);
const sh = (script: string) => ['sh', '-c', script];

describe('a command as the fault', () => {
  it('a fault command counts as finished when it exits, even if a process that it started continues', async (t) => {
    const { script, written } = commandWithServer(t);
    await run(sh(script));
    const before = written();
    await eventually('more output of the server', () => written() > before);
  });

  it('a fault command that fails is reported with its output', async () => {
    await assert.rejects(run(sh('echo no such service >&2; exit 3')), /exit code 3[\s\S]*: no such service$/);
  });

  it('a fault command that does not exist is reported', async () => {
    await assert.rejects(run(['capacity-no-such-program']), /ENOENT/);
  });

  it('a fault command is stopped after a time-out', async () => {
    const { message } = (await run(sh('echo $$; exec sleep 60'), NEVER, 500).catch((error) => error)) as Error;
    assert.match(message, /did not end within 0\.5 s, and was stopped: sh -c .*: \d+$/);
    const pid = Number(/\d+$/.exec(message));
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });

  it('a fault command is stopped with the run', async () => {
    const stop = new AbortController();
    const stopped = assert.rejects(run(sh('exec sleep 60'), stop.signal), /canceled/);
    stop.abort();
    await stopped;
  });
});

/** @returns a command that leaves a server running, and the number of writes to the server that succeeded */
function commandWithServer(t: TestContext): { script: string; written: () => number } {
  const base = join(tmpdir(), `capacity-fault-${process.pid}-${Date.now()}`);
  t.after(() => {
    process.kill(Number(readFileSync(`${base}.pid`, 'utf8')));
    for (const kind of ['pid', 'log']) rmSync(`${base}.${kind}`);
  });
  const server = `while echo request && echo x >> ${base}.log; do sleep 0.05; done`;
  return {
    script: `(${server}) & echo $! > ${base}.pid; touch ${base}.log`,
    written: () => readFileSync(`${base}.log`, 'utf8').length,
  };
}
