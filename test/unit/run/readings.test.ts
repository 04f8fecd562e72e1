import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { readAtRest } from '../../../plugin/run/readings.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Three readings, one after the other. */
async function read(t: TestContext, readings: Record<string, number>[]) {
  const time = new VirtualTime(t);
  const asked: string[] = [];
  const control = { gc: async () => void asked.push('gc') };
  const sampler = {
    reading: async () => {
      asked.push(`reading at ${Math.round(time.nowMs / 100) * 100} ms`);
      return readings.shift() ?? {};
    },
  };
  return { layers: await time.until(readAtRest(control, sampler)), asked };
}

it('memory at rest is the median of readings after one collection', async (t) => {
  const { layers, asked } = await read(t, [{ workerPss: 30 }, { workerPss: 9 }, { workerPss: 20 }]);
  assert.deepEqual(layers, { workerPss: 20 });
  assert.deepEqual(asked, ['gc', 'reading at 300 ms', 'reading at 500 ms', 'reading at 700 ms']);
});

it('a layer that one of the readings does not have is in none of the figures', async (t) => {
  const { layers } = await read(t, [{ a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }]);
  assert.deepEqual(layers, { a: 1 });
});
