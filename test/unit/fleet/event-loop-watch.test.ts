import assert from 'node:assert/strict';
import { it } from 'node:test';
import { TimerLag } from '../../../plugin/fleet/event-loop-watch.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

it('a late timer shows in the lag of the next second only', (t) => {
  const time = new VirtualTime(t);
  const lag = new TimerLag(100);
  const ticks = (count: number) =>
    Array.from({ length: count }, () => {
      time.jump(100);
      return lag.tick();
    });
  assert.deepEqual(ticks(9), Array(9).fill(0));
  time.jump(140);
  assert.equal(lag.tick(), 40);
  assert.deepEqual(ticks(10), [...Array(9).fill(40), 0]);
});
