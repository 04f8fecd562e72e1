import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { suite, type TestContext, test } from 'node:test';
import {
  childrenOf,
  isRefAlive,
  parseStatStartTime,
  processRef,
  terminateProcesses,
} from '../../../server/stack/state/stack-processes.ts';

async function child(t: TestContext, script: string) {
  const process = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => process.kill('SIGKILL'));
  await once(process.stdout, 'data');
  const ref = processRef(process.pid);
  assert.ok(ref);
  return { process, ref };
}

suite('processes', () => {
  test('reads the start time of a process whose name has brackets and spaces', () => {
    const before = '42 (a ) b) (c) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200';
    assert.equal(parseStatStartTime(before), '987654');
    assert.equal(parseStatStartTime(before.replace(') S', ') Z')), undefined, 'a zombie does not run');
  });

  test('a reused pid with another start time is not signalled', async (t) => {
    const { process: started, ref } = await child(t, 'echo up; exec sleep 60');
    assert.deepEqual(await terminateProcesses([{ ...ref, startTime: '1' }], 100), []);
    assert.equal(isRefAlive(ref), true);
    assert.ok(childrenOf(process.pid).includes(ref.pid));
    const exit = once(started, 'exit');
    assert.deepEqual(await terminateProcesses([ref], 5_000), []);
    assert.deepEqual(await exit, [null, 'SIGTERM']);
  });

  test('a process of another user is not signalled', async (t) => {
    const isRoot = process.getuid?.() === 0;
    const child = isRoot ? spawn('sleep', ['60'], { uid: 65_534, gid: 65_534 }) : undefined;
    t.after(() => child?.kill('SIGKILL'));
    const pid = child?.pid ?? 1;
    assert.equal(processRef(pid), undefined);
    const startTimeNow = () => parseStatStartTime(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const startTime = startTimeNow() ?? '';
    assert.deepEqual(await terminateProcesses([{ pid, startTime }], 100), []);
    assert.equal(startTimeNow(), startTime, 'it lives');
  });

  test('sends SIGKILL to a process that ignores SIGTERM', async (t) => {
    const { process, ref } = await child(t, 'trap "" TERM; echo up; while :; do read x < /dev/zero; done');
    const exit = once(process, 'exit');
    assert.deepEqual(await terminateProcesses([ref], 200), []);
    assert.deepEqual(await exit, [null, 'SIGKILL']);
  });
});
