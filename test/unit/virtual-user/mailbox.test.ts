/** Events that come before the flow waits for them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

it('keeps events for a later waitFor in the namespace that it names, and in no other', async () => {
  const bench = new Bench();
  bench.fleet.onOpen = (connection, namespace) => {
    for (let count = 0; count < 20; count++) connection.deliver(namespace, 'tick', { from: namespace });
  };
  const wait = { event: 'tick', namespace: '/chat', capture: { json: '$.from', as: 'first' } };
  const outcome = await bench.play([{ connect: true }, { waitFor: wait }]);
  assert.equal(outcome.error, null);
  assert.equal(outcome.vars.first, '/chat');
  assert.equal(bench.counters['socketio.events_dropped'], 20 - 16, 'the mailbox of one namespace was full');
});

it('keeps each awaited event by itself, and on a new connection only what comes there', async () => {
  const bench = new Bench();
  let opened = 0;
  bench.fleet.onOpen = (connection, namespace) => {
    opened++;
    for (const event of ['a', 'b']) connection.deliver(namespace, event, { from: `${event} of ${opened}` });
  };
  const wait = (event: string, namespace = '/') => ({
    waitFor: { event, namespace, timeout: 0.01, capture: { json: '$.from', as: `${namespace}${event}` } },
  });
  const { error, vars } = await bench.play([
    { connect: '/' },
    { connect: '/chat' },
    { connect: '/' },
    ...[wait('b'), wait('a'), wait('a', '/chat')],
  ]);
  assert.equal(error, null);
  assert.deepEqual([vars['/a'], vars['/b'], vars['/chata']], ['a of 3', 'b of 3', 'a of 2']);
});

it('stops listening after the last step that waits for an event, also inside a loop and on new connections', async () => {
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
  const { error } = await bench.play([
    look,
    wait,
    look,
    { loop: [wait, look], count: 2 },
    look,
    { connect: true },
    look,
  ]);
  assert.equal(error, null);
  assert.deepEqual(listeners, [1, 1, 1, 1, 0, 0]);
});
