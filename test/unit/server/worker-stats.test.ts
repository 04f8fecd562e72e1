import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectionCount, collectGarbage, EventLoopWindow } from '../../../server/control/worker-stats.ts';
import { eventually } from '../../helpers/poll.ts';

test('a forced collection frees unreferenced objects', () => {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let garbage: object[] | undefined = Array.from({ length: 200_000 }, (_, at) => ({ at }));
  assert.ok(process.memoryUsage().heapUsed - before > 4e6, `${garbage.length} objects take memory`);
  garbage = undefined;
  const { durationMs } = collectGarbage();
  assert.ok(durationMs > 0);
  assert.ok(process.memoryUsage().heapUsed - before < 1e6);
});

test('a forced collection is counted, and a count without one stands still', async (t) => {
  const collections = new CollectionCount();
  t.after(() => collections.close());
  const before = collections.read();
  collectGarbage();
  await eventually('the collection in the count', () => collections.read() > before);
  const after = collections.read();
  await new Promise(setImmediate);
  assert.equal(collections.read(), after);
});

test('a window includes a blocked event loop, and the next one does not', async (t) => {
  const window = new EventLoopWindow();
  t.after(() => window.close());
  // The monitor sees what falls between two of its own turns.
  await eventually('a block that was seen', () => {
    if (window.read().delayMaxMs > 100) return true;
    const until = performance.now() + 150;
    while (performance.now() < until);
    return false;
  });
  const blocked = window.next();
  assert.ok(blocked.delayMaxMs > 100, `max ${blocked.delayMaxMs}`);
  assert.ok(blocked.utilization > 0.3, `utilization ${blocked.utilization}`);
  assert.equal(window.read().delayMaxMs, 0);
});
