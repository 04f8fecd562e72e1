/** Whose processes are read: a number alone does not say on which machine, or in which container, it is one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTarget } from '../../../plugin/run/target.ts';
import type { WorkerStats } from '../../../protocol/events.ts';
import { thisHost } from '../../../protocol/host.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const here = thisHost();
const worker = (pid: number, host = here) => ({ pid, host }) as WorkerStats;

async function pidsOf(workers: WorkerStats[]): Promise<number[] | undefined> {
  // As through a tunnel: the address says nothing of the machine behind it.
  const urls = workers.map((_, index) => `http://127.0.0.1:${4000 + index}`);
  const config = hookConfig({ control: { urls, token: 'token-of-the-tests' } });
  const target = await openTarget(config, 10, () => {}, new AbortController().signal);
  return (await target.pids(workers)).worker;
}

test('workers of this machine are read', async () => {
  assert.deepEqual(await pidsOf([worker(7), worker(8)]), [7, 8]);
});

test('of workers elsewhere none is, and not only those that are here', async () => {
  assert.deepEqual(await pidsOf([worker(7), worker(8, { ...here, kernel: 'another' })]), []);
});

test('a worker in a container has a number that means another process here', async () => {
  assert.deepEqual(await pidsOf([worker(1, { ...here, pidNamespace: 'pid:[1]' })]), []);
});
