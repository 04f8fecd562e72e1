import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimerWheel } from '../../../plugin/fleet/process/timer-wheel.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

test('everything is called back once, never early, also by a process that was late', async (t) => {
  const time = new VirtualTime(t);
  const called: [string, number][] = [];
  const wheel = new TimerWheel<string>((item) => {
    called.push([item, time.nowMs]);
    if (item === 'first') wheel.add('added by the first', 0);
  });
  for (const [item, delayMs] of [
    ['second', 100],
    ['first', 35],
    ['third', 500],
    ['last', 5000],
  ] as const)
    wheel.add(item, delayMs);
  await time.pass(110);
  assert.deepEqual(
    called.map(([item]) => item),
    ['first', 'added by the first', 'second'],
  );
  assert.ok((called[0]?.[1] ?? 0) >= 35 && (called[2]?.[1] ?? 0) >= 100);
  time.jump(1000);
  assert.equal(called.at(-1)?.[0], 'third');
  wheel.close();
  await time.pass(6000);
  assert.equal(called.length, 4, 'closed before the last');
  wheel.add('again', 10);
  await time.pass(30);
  assert.equal(called.at(-1)?.[0], 'again');
});
