/** What a run asks of the workers before any load: all of them, and each once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireAllWorkers } from '../../../plugin/run/target/all-workers.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const worker = (name: string, instance: string) => ({ ...workerStats(name, 0), instance });

function check(workers: ReturnType<typeof worker>[], servers: (number | undefined)[]) {
  const control = { size: workers.length, stats: async () => workers, servers: async () => servers.shift() };
  const logged: string[] = [];
  const { signal } = new AbortController();
  return requireAllWorkers(control, (text) => logged.push(text), signal).then(() => logged);
}

test('workers that are all, or whose adapter does not tell', async () => {
  assert.deepEqual(await check([worker('w0', 'a'), worker('w1', 'b')], [2]), []);
  assert.deepEqual(await check([worker('w0', 'a'), worker('w1', 'b')], [1]), [], 'they have no adapter in common');
  assert.deepEqual(await check([worker('w0', 'a')], [undefined]), []);
});

test('one process behind two addresses, and two workers of one name', async () => {
  await assert.rejects(check([worker('w0', 'a'), worker('w0', 'a')], []), {
    code: 'WORKER_URLS_WRONG',
    message: /2 control addresses lead to the same process, w0/,
    fix: /load balancer/,
  });
  await assert.rejects(check([worker('p1', 'a'), worker('p1', 'b')], []), {
    code: 'WORKER_URLS_WRONG',
    message: /2 workers have the same name, p1/,
    fix: /instrument\(io, \{worker\}\)/,
  });
});

test('a worker that the adapter still counts for a while is waited for; one that nobody has named is not', async (t) => {
  const time = new VirtualTime(t);
  const [line] = await time.until(check([worker('w0', 'a')], [2, 2, 1]));
  assert.match(line ?? '', /counts 2 servers, and the run controls 1/);
  await assert.rejects(time.until(check([worker('w0', 'a')], Array<number>(50).fill(3))), {
    code: 'WORKER_URLS_WRONG',
    message: /counts 3 servers, and the run controls 1: w0/,
  });
});
