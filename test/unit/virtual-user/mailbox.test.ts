import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

it('the mailbox keeps awaited events by name, and starts empty for a new connection', async () => {
  const bench = new Bench();
  let opened = 0;
  bench.fleet.onOpen = (connection, namespace) => {
    opened++;
    for (let count = 0; count < 18; count++) connection.deliver(namespace, 'a', { from: `${count} of ${opened}` });
    connection.deliver(namespace, 'b', { from: `b of ${opened}` });
  };
  const wait = (event: string, namespace = '/') => ({
    waitFor: { event, namespace, timeout: 0.01, capture: { json: '$.from', as: `${namespace}${event}` } },
  });
  const connect = ['/', '/chat', '/'].map((namespace) => ({ connect: namespace }));
  const vars = await bench.passes([...connect, wait('b'), wait('a'), wait('a', '/chat')]);
  // Newer events displaced all but the newest two events of each namespace.
  assert.deepEqual([vars['/a'], vars['/b'], vars['/chata']], ['2 of 3', 'b of 3', '2 of 2']);
  assert.equal(bench.counters['socketio.events_dropped'], 3 * 2);
});

it('the mailbox stops listening after the last step that waits for an event', async () => {
  const bench = new Bench();
  const listeners: number[] = [];
  bench.fleet.onOpen = (connection) => {
    for (let tick = 0; tick < 4; tick++) connection.deliver('/', 'tick', tick);
  };
  bench.fleet.onEmit = (_connection, _namespace, event) => {
    if (event === 'look') listeners.push(bench.fleet.connections.at(-1)?.listenerCount ?? -1);
  };
  const look = { emit: ['look'] };
  const wait = { waitFor: { event: 'tick', timeout: 0.01 } };
  await bench.passes([look, wait, look, { loop: [wait, look], count: 2 }, look, { connect: true }, look]);
  assert.deepEqual(listeners, [1, 1, 1, 1, 0, 0]);
});
