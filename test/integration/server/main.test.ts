import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connectClient, onceOf, TOKEN } from '../../helpers/app.ts';
import { startProcess, WORKER } from '../../helpers/process.ts';
import { freePort } from '../../helpers/redis.ts';

/** Starts a worker like PM2: a child process with an IPC channel. */
function startWorker(t: TestContext, environment: Record<string, string>) {
  const env = { PATH: process.env.PATH, ...environment };
  return startProcess(t, process.execPath, [WORKER], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
}

async function untilReady(child: ChildProcess) {
  const [message] = await once(child, 'message');
  assert.equal(message, 'ready');
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`the server reports ready when it serves, and exits with code 0 on ${signal}`, async (t) => {
    const port = await freePort();
    const worker = startWorker(t, { CAPACITY_TOKEN: TOKEN, CAPACITY_PORT: `${port}` });
    await untilReady(worker.child);
    const client = await connectClient(`http://127.0.0.1:${port}`);
    await client.emitWithAck('join_room', 'blue');
    const left = onceOf(client, 'disconnect');
    worker.kill(signal);
    assert.equal((await left)[0], 'transport close');
    assert.equal(await worker.ended, 0);
    assert.match(worker.output(), /^(\{.*\}\n)+$/, 'only its log');
    assert.doesNotMatch(worker.output(), new RegExp(TOKEN));
  });
}

test('the server exits when its parent process has ended', async (t) => {
  const worker = startWorker(t, { CAPACITY_TOKEN: TOKEN });
  await untilReady(worker.child);
  // Waits for `exit`, because a disconnected child never emits `close`.
  const exited = once(worker.child, 'exit');
  worker.child.disconnect();
  assert.deepEqual(await exited, [0, null]);
});

test('a failed start of the server prints one message with its code, and exits with code 1', async (t) => {
  const cases: [environment: Record<string, string>, code: string][] = [
    [{ CAPACITY_PORT: 'many' }, 'CONFIG_INVALID'],
    [{ CAPACITY_TOKEN: TOKEN, REDIS_URL: `redis://127.0.0.1:${await freePort()}` }, 'REDIS_UNREACHABLE'],
  ];
  for (const [environment, code] of cases) {
    const { ended, output } = startWorker(t, environment);
    assert.equal(await ended, 1);
    assert.match(output(), new RegExp(`^${code}: `, 'm'));
    assert.doesNotMatch(output(), /\n\s+at /, 'no stack trace');
  }
});
