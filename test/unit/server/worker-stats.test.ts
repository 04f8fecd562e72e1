import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopHistory } from '../../../server/control/event-loop-history.ts';
import { collectGarbage, EventLoopWindow, GarbageCollectionCount } from '../../../server/control/worker-stats.ts';
import { eventually } from '../../helpers/poll.ts';

test('worker statistics count a forced garbage collection, and none without one', async (t) => {
  const collections = new GarbageCollectionCount();
  t.after(() => collections.close());
  const before = collections.read();
  collectGarbage();
  await eventually('the collection in the count', () => collections.read() > before);
  const after = collections.read();
  await new Promise(setImmediate);
  assert.equal(collections.read(), after);
});

test('event loop statistics show a blocked event loop only in the window in which it was blocked', async (t) => {
  const window = new EventLoopWindow();
  t.after(() => window.close());
  // Repeats the block, because the monitor sees only blocks between two of its own turns.
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

test('the recording of the event loop has one row per second from its start to its end', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const history = new EventLoopHistory();
  t.after(() => history.close());
  t.mock.timers.tick(5000);
  assert.deepEqual(history.next(true), { seconds: [], delayP99Ms: [], delayMaxMs: [] }, 'nobody had asked');
  t.mock.timers.tick(3000);
  const { seconds, delayP99Ms, delayMaxMs } = history.next(false);
  assert.deepEqual([seconds.length, delayP99Ms.length, delayMaxMs.length], [3, 3, 3]);
  t.mock.timers.tick(3000);
  assert.deepEqual(history.next(true).seconds, []);
  t.mock.timers.tick(1_000_000);
  assert.ok(history.next(false).seconds.length <= 200, 'however long the run is');
});
