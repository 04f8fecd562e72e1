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
