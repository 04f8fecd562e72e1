import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { readAtRest, readSettled } from '../../../plugin/run/memory/readings.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { column } from '../../helpers/columns.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Three readings, one after the other. */
async function read(t: TestContext, readings: Record<string, number>[]) {
  const time = new VirtualTime(t);
  const asked: string[] = [];
  const control = { gc: async () => void asked.push('gc'), stats: async () => [] };
  const sampler = {
    reading: async () => {
      asked.push(`reading at ${Math.round(time.nowMs / 100) * 100} ms`);
      return readings.shift() ?? {};
    },
  };
  const { layers } = await time.until(readAtRest(control, sampler));
  return { layers, asked };
}

it('memory at rest is the mean of readings, each after a collection', async (t) => {
  const { layers, asked } = await read(t, [{ workerPss: 30 }, { workerPss: 10 }, { workerPss: 20 }]);
  assert.deepEqual(layers, { workerPss: 20 });
  assert.deepEqual(asked, ['gc', 'reading at 300 ms', 'gc', 'reading at 500 ms', 'gc', 'reading at 800 ms']);
});

it('a layer that one of the readings does not have is in none of the figures', async (t) => {
  const { layers } = await read(t, [{ a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }]);
  assert.deepEqual(layers, { a: 1 });
});

describe('a collection', () => {
  /** @param made by each worker, of which there are as many as counts */
  async function uncollected(t: TestContext, counts: number[], made: number[]) {
    const time = new VirtualTime(t);
    let after = false;
    const control = {
      gc: async () => {
        after = true;
      },
      stats: async () =>
        counts.map((count, index) => ({
          ...workerStats(`w${index}`, 0),
          collections: count + (after ? (made[index] as number) : 0),
        })),
    };
    return (await time.until(readAtRest(control, { reading: async () => ({}) }))).uncollected;
  }

  it('shows in the count of every worker', async (t) => {
    assert.deepEqual(await uncollected(t, [7, 0], [1, 3]), []);
  });

  it('that a worker only confirmed does not', async (t) => {
    assert.deepEqual(await uncollected(t, [7, 7], [1, 0]), ['w1']);
  });
});

describe('memory that has settled', () => {
  const MB = 1024 ** 2;

  async function settle(t: TestContext, bytesAt: (ms: number) => Record<string, number>) {
    const time = new VirtualTime(t);
    const control = { gc: async () => {}, stats: async () => [] };
    const sampler = { layers: LAYERS, reading: async () => bytesAt(time.nowMs) };
    const settled = await time.until(readSettled(control, sampler, new AbortController().signal));
    return { ...settled, ms: time.nowMs };
  }

  it('is read again, less than a second later', async (t) => {
    const { ms, falls } = await settle(t, () => ({ workerRss: 200 * MB }));
    assert.deepEqual(falls, []);
    assert.ok(ms < 1500, `${ms} ms`);
  });

  it('is waited for while it falls', async (t) => {
    const { ms, layers, falls } = await settle(t, (at) => ({ workerRss: Math.max(100, 200 - at / 50) * MB }));
    assert.deepEqual([layers, falls], [{ workerRss: 100 * MB }, []]);
    assert.ok(ms > 5000 && ms < 8000, `${ms} ms`);
  });

  it('is read as it is after the limit, with the layers that still fall', async (t) => {
    const { ms, falls } = await settle(t, (at) => ({ workerRss: 200 * MB, redisRss: 900 * MB - at * 10_000 }));
    assert.deepEqual(column(falls, 'layer'), ['redis']);
    assert.ok(ms > 20_000 && ms < 22_000, `${ms} ms`);
  });

  it('may be noisy, shared with other processes, or not of the deployment', async (t) => {
    const { ms } = await settle(t, (at) => ({
      workerRss: 200 * MB - at * 500,
      workerPss: 900 * MB - at * 10_000,
      fleetRss: 900 * MB - at * 10_000,
    }));
    assert.ok(ms < 1500, `${ms} ms`);
  });
});
