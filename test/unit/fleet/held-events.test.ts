/**
 * Tests that events for a later step stay in the fleet process until the step starts. A flood of events must not
 * cross the process's channel.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { IdleProcess } from '../../helpers/idle-process.ts';

const CAPACITY = 16;
const ticks = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

/** Returns a connection that holds the event `tick`. */
function holding(t: TestContext) {
  const process = new IdleProcess(t);
  const connection = process.connection();
  const taken: unknown[] = [];
  let displaced = 0;
  connection.watch({ displaced: (count) => (displaced += count) });
  const listen = connection.listen('/', 'tick', ([tick]) => taken.push(tick));
  listen('hold');
  const open = () => {
    void connection.open('/');
    process.accept('/', true);
  };
  const send = (from: number, count: number) => {
    assert.ok(process.client.interest?.has('tick'));
    for (const tick of ticks(from, count)) process.client.sink.onEvent('/', 'tick', [tick]);
  };
  open();
  return { process, connection, listen, open, send, taken, displaced: () => displaced };
}

test('a listener that starts to take events gets the newest held events, and then each new event', (t) => {
  const { listen, send, taken, displaced } = holding(t);
  send(0, 1000);
  assert.deepEqual([taken, displaced()], [[], 0]);
  listen('take');
  assert.deepEqual([taken, displaced()], [ticks(1000 - CAPACITY, CAPACITY), 1000 - CAPACITY]);
  send(1000, 100);
  assert.equal(taken.length, CAPACITY + 100, 'a step that waits sees every event');
  listen('hold');
  send(2000, 5);
  assert.equal(taken.length, CAPACITY + 100);
  listen('take');
  assert.deepEqual([taken.length, taken.at(-1)], [CAPACITY + 105, 2004]);
});

test('a connection delivers events to all listeners while one of them takes events', (t) => {
  const { connection, listen, send, taken } = holding(t);
  const other: unknown[] = [];
  const listenToo = connection.listen('/', 'tick', ([tick]) => other.push(tick));
  listenToo('take');
  send(0, 1);
  listenToo('drop');
  send(1, 1);
  assert.deepEqual([taken, other], [[0], [0]]);
  listen('take');
  assert.deepEqual([taken, other], [[0, 1], [0]]);
});

test('a connection counts the events that no step of the flow took before its end', async (t) => {
  const { process, connection, send, displaced } = holding(t);
  send(0, 20);
  const closed = connection.close();
  process.leave();
  process.client.sink.onClosed('io client disconnect', undefined);
  await closed;
  assert.equal(displaced(), 20 - CAPACITY);
});

test('a connection keeps its held events when it drops and reconnects', (t) => {
  const { process, listen, open, send, taken } = holding(t);
  send(0, 2);
  process.drop();
  open();
  send(2, 1);
  assert.deepEqual(taken, []);
  listen('take');
  assert.deepEqual(taken, [0, 1, 2]);
});

test('a listener of every event gets each event immediately while another listener holds events', (t) => {
  const { connection, listen, send, taken } = holding(t);
  const each: unknown[] = [];
  connection.listen('/', 'tick', ([tick]) => each.push(tick))('each');
  send(0, 20);
  assert.deepEqual(each, ticks(0, 20));
  listen('take');
  send(20, 1);
  assert.equal(taken.at(-1), 20);
  listen('drop');
  send(21, 1);
  assert.deepEqual(each, ticks(0, 22));
});
