import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventLoopHistory } from '../../../server/control/event-loop-history.ts';

describe('EventLoopHistory', () => {
  it('has one row a second from the request that begins it to the one that ends it', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const history = new EventLoopHistory();
    t.after(() => history.close());
    t.mock.timers.tick(5000);
    assert.deepEqual(history.next(true), { seconds: [], delayP99Ms: [], delayMaxMs: [] }, 'nobody had asked');
    t.mock.timers.tick(3000);
    const { seconds, delayP99Ms, delayMaxMs } = history.next(false);
    assert.deepEqual([seconds.length, delayP99Ms.length, delayMaxMs.length], [3, 3, 3]);
    t.mock.timers.tick(3000);
    assert.deepEqual(history.next(false).seconds, []);
  });

  it('stays short, however long the run is', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const history = new EventLoopHistory();
    t.after(() => history.close());
    history.next(true);
    t.mock.timers.tick(1_000_000);
    assert.ok(history.next(false).seconds.length <= 200);
  });
});
