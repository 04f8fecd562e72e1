import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Outbox } from '../../../plugin/fleet/outbox.ts';

/** Starts an outbox with a clock that the test sets. */
function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: string[][] = [];
  const outbox = new Outbox<string>(5, (batch) => sent.push(batch));
  return { outbox, sent, tick: (ms: number) => t.mock.timers.tick(ms) };
}

test('messages between processes that can wait are sent together after a delay', (t) => {
  const { outbox, sent, tick } = start(t);
  outbox.add('a', true);
  tick(4);
  outbox.add('b', true);
  assert.deepEqual(sent, []);
  tick(1);
  tick(100);
  assert.deepEqual(sent, [['a', 'b']], 'and nothing when there is nothing');
});

test('an urgent message is sent after this turn of the event loop, with all earlier messages in order', async (t) => {
  const { outbox, sent, tick } = start(t);
  outbox.add('a', true);
  outbox.add('b', false);
  outbox.add('c', true);
  assert.deepEqual(sent, []);
  await setImmediate();
  tick(100);
  assert.deepEqual(sent, [['a', 'b', 'c']]);
  outbox.add('d', true);
  tick(5);
  assert.deepEqual(sent[1], ['d'], 'the delay starts again');
});

test('the outbox sends nothing after it is closed', (t) => {
  const { outbox, sent, tick } = start(t);
  outbox.add('a', true);
  outbox.close();
  tick(100);
  assert.deepEqual(sent, []);
});
