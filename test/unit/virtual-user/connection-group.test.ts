import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConnectionGroup } from '../../../plugin/virtual-user/connection-group.ts';
import { Bench } from '../../helpers/virtual-user.ts';

it('opens all of them, and all run the steps of the flow', async () => {
  const bench = new Bench();
  const outcome = await bench.play([
    { connect: { count: 30, ratePerSec: 3000 } },
    { emit: ['join_room', { clientKey: 'capacity' }] },
  ]);
  assert.equal(outcome.error, null);
  assert.equal(bench.fleet.connections.length, 30);
  assert.equal(bench.fleet.sent.length, 30);
});

it('hands them to the fleet some at a time, each with its turn', async () => {
  const bench = new Bench();
  await bench.play([{ connect: { count: 41, ratePerSec: 200 } }]);
  const orders = bench.fleet.connections
    .slice(1)
    .map(({ orders: [order] }) => order as { atMs: number; afterMs: number });
  const portions = orders.filter(({ atMs }, index) => index === 0 || atMs - (orders[index - 1]?.atMs ?? 0) > 20);
  assert.ok(portions.length <= 4, `${portions.length} portions of 40`);
  let ahead = 0;
  for (let index = 1; index < orders.length; index++) {
    const [before, { afterMs }] = [orders[index - 1]?.afterMs ?? 0, orders[index] as { afterMs: number }];
    // Late connections open at once; the first of a batch opens near the beginning of the batch.
    if (before === 0 || afterMs < before) continue;
    assert.ok(Math.abs(afterMs - before - 5) < 1e-6, `${afterMs} ms after ${before} ms, at 200/s`);
    ahead++;
  }
  assert.ok(ahead >= 20, `${ahead} of 40 were requested ahead of their time`);
});

it('sends with the opening what the same step emits, and counts it where that worked', async () => {
  const bench = new Bench();
  bench.fleet.onOpen = (connection) =>
    bench.fleet.failures.splice(0, 0, ...(connection === bench.fleet.connections[0] ? (['http_502'] as const) : []));
  const outcome = await bench.play([
    { emit: ['join_room', { clientKey: 'capacity' }], connect: { count: 10, ratePerSec: 5000 } },
  ]);
  bench.engine.meter.flush();
  assert.equal(outcome.error, null);
  assert.deepEqual(
    bench.fleet.connections.map(({ sent }) => sent.length),
    [1, 0, ...Array(8).fill(1)],
  );
  assert.equal(bench.counters['socketio.emit'], 9);
});

it('tells how many are still to open', async () => {
  const bench = new Bench();
  const toOpen: number[] = [];
  bench.fleet.onOpen = () => toOpen.push(bench.engine.tally.toOpen);
  await bench.play([{ connect: { count: 4, ratePerSec: 5000 } }]);
  assert.deepEqual(toOpen, [0, 3, 3, 3]);
  assert.equal(bench.engine.tally.toOpen, 0);
});

it('closes those, too, that are still opening, and begins with no more', async () => {
  const { fleet, engine } = new Bench();
  const group = new ConnectionGroup(engine, 5);
  const closed = Promise.withResolvers<void>();
  fleet.onOpen = () => closed.resolve(group.close());
  void group.open(3, '/', undefined);
  await closed.promise;
  assert.equal(fleet.only.closed, true);
  assert.equal(engine.tally.toOpen, 0);
});

it('emits on all after the opening, where the namespaces differ', async () => {
  const bench = new Bench();
  const elsewhere = { count: 3, ratePerSec: 5000, namespace: '/chat' };
  await bench.play([{ emit: ['hello'], namespace: '/news', connect: elsewhere }]);
  assert.deepEqual(bench.fleet.sent, Array(3).fill(['/news', 'hello']));
});

it('counts those that fail, one by one, and goes on with the others', async () => {
  const bench = new Bench();
  bench.fleet.onOpen = () =>
    bench.fleet.failures.splice(
      0,
      0,
      ...(bench.fleet.connections.length === 1 ? (['http_502', 'ECONNREFUSED'] as const) : []),
    );
  const outcome = await bench.play([{ connect: { count: 10, ratePerSec: 5000 } }, { emit: ['join_room', 'capacity'] }]);
  assert.equal(outcome.error, null);
  assert.deepEqual(bench.engine.tally.failures, { http_502: 1, ECONNREFUSED: 1 });
  assert.equal(bench.fleet.sent.length, 8);
});

it('waits for the acknowledgements of all', async () => {
  const bench = new Bench();
  let acked = 0;
  bench.fleet.onAck = () => {
    acked++;
    return ['ok'];
  };
  const outcome = await bench.play([
    { connect: { count: 5, ratePerSec: 5000 } },
    { emit: ['join_room', 'capacity'], acknowledge: true },
  ]);
  assert.equal(outcome.error, null);
  assert.equal(acked, 5);
});

it('counts a member that is lost as failed, also one that ends in the same breath as it opens', async () => {
  const bench = new Bench();
  const { fleet, engine } = bench;
  let opened = 0;
  fleet.onOpen = (connection) => {
    opened++;
    if (opened === 2) connection.drop('io server disconnect');
    if (opened === 3) setImmediate(() => connection.drop('transport close'));
  };
  const outcome = await bench.play([{ connect: { count: 4, ratePerSec: 4000 } }, { think: 0.02 }]);
  assert.equal(outcome.error, null);
  assert.deepEqual(engine.tally.failures, { disconnected_io_server_disconnect: 1, disconnected_transport_close: 1 });
});

it('counts a member whose join is refused as failed', async () => {
  const bench = new Bench();
  bench.fleet.onEmit = (connection) => connection !== bench.fleet.connections[0] && connection.refuse('join_refused');
  const outcome = await bench.play([{ connect: { count: 3, ratePerSec: 3000 } }, { emit: ['join_room', 'theirs'] }]);
  assert.equal(outcome.error, null);
  assert.deepEqual(bench.engine.tally.failures, { join_refused: 2 });
});
