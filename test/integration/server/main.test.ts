import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectClient, onceOf, TOKEN } from '../../helpers/app.ts';
import { freePort } from '../../helpers/redis.ts';

const MAIN = fileURLToPath(new URL('../../../server/main.ts', import.meta.url));

/** Starts `server/main.ts` as PM2 does: a child process with an IPC channel. */
function startWorker(t: TestContext, environment: Record<string, string>) {
  const child = fork(MAIN, { env: { PATH: process.env.PATH, ...environment }, silent: true, execArgv: [] });
  t.after(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (text) => (output.stdout += text));
  child.stderr?.on('data', (text) => (output.stderr += text));
  return { child, output, exited: onceOf(child, 'close') };
}

async function ready(child: ChildProcess) {
  const [message] = await once(child, 'message');
  assert.equal(message, 'ready');
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`reports ready when it serves, and ends with exit code 0 on ${signal}`, async (t) => {
    const port = await freePort();
    const worker = startWorker(t, { CAPACITY_TOKEN: TOKEN, CAPACITY_PORT: `${port}` });
    await ready(worker.child);
    const client = await connectClient(`http://127.0.0.1:${port}`);
    await client.emitWithAck('join_room', 'blue');
    const left = onceOf(client, 'disconnect');
    worker.child.kill(signal);
    assert.equal((await left)[0], 'transport close');
    assert.deepEqual(await worker.exited, [0, null]);
    assert.equal(worker.output.stderr, '');
    assert.match(worker.output.stdout, /"msg":"worker is up"/);
    assert.doesNotMatch(worker.output.stdout, new RegExp(TOKEN));
  });
}

test('ends when the process that started it has ended', async (t) => {
  const worker = startWorker(t, { CAPACITY_TOKEN: TOKEN });
  await ready(worker.child);
  // A disconnected child never emits `close`.
  const exited = once(worker.child, 'exit');
  worker.child.disconnect();
  assert.deepEqual(await exited, [0, null]);
});

test('what keeps it from starting is one message with its code, and exit code 1', async (t) => {
  const cases: [environment: Record<string, string>, code: string][] = [
    [{ CAPACITY_PORT: 'many' }, 'CONFIG_INVALID'],
    [{ CAPACITY_TOKEN: TOKEN, REDIS_URL: `redis://127.0.0.1:${await freePort()}` }, 'REDIS_UNREACHABLE'],
  ];
  for (const [environment, code] of cases) {
    const { exited, output } = startWorker(t, environment);
    assert.deepEqual(await exited, [1, null]);
    assert.match(output.stderr, new RegExp(`^${code}: `));
    assert.doesNotMatch(output.stderr, /\n\s+at /, 'no stack trace');
  }
});
