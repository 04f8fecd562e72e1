/** Virtual users that hold many connections: each is opened at its rate, does what the first does, and is counted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectionGroup } from '../../../plugin/virtual-user/connection-group.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench } from '../../helpers/virtual-user.ts';

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
  assert.deepEqual([outcome.errors, bench.counters['socketio.connects']], [['http_502', 'ECONNREFUSED'], 8]);
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

describe('each further connection', () => {
  it('is counted and timed by itself', async () => {
    const bench = new Bench();
    const connection = bench.fleet.connection.bind(bench.fleet);
    bench.fleet.connection = () => {
      const made = connection();
      const open = made.open.bind(made);
      made.open = async (...args) => {
        const { openedAtUs } = await open(...args);
        return { begunAtUs: openedAtUs - 7000, openedAtUs };
      };
      return made;
    };
    await bench.play([{ connect: { count: 4, ratePerSec: 5000 } }]);
    assert.equal(bench.counters['socketio.connects'], 4);
    assert.deepEqual(bench.histograms['socketio.connect_time']?.map(Math.round), [7, 7, 7, 7]);
  });

  it('that fails is closed at once, not with the others', async () => {
    const { fleet, engine } = new Bench();
    fleet.failures.push('http_502');
    const group = new ConnectionGroup(engine, 5000);
    assert.equal(await group.open(2, '/', undefined), 1);
    assert.equal(engine.tally.toOpen, 0, 'it has opened or failed, also before anybody leaves');
    assert.deepEqual(
      fleet.connections.map(({ closed }) => closed),
      [true, false],
    );
    await group.close();
  });

  it('that drops is counted by its reason, and does no more; who lost one namespace goes on', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = ({ sent }, _, event) => {
      const [, second, third] = bench.fleet.connections;
      if (event !== 'first' || sent.length > 1) return;
      if (sent === third?.sent) {
        second?.drop('transport close');
        third.drop('io server disconnect', '/elsewhere');
      }
    };
    const outcome = await bench.play([
      { connect: { count: 3, ratePerSec: 5000 } },
      { emit: ['first'] },
      { emit: ['second'] },
    ]);
    assert.equal(outcome.error, null);
    assert.deepEqual(
      bench.fleet.connections.map(({ sent }) => sent.map(([, event]) => event)),
      [['first', 'second'], ['first'], ['first', 'second']],
    );
    assert.equal(bench.counters['socketio.disconnect.transport_close'], 1);
    assert.equal(bench.counters['socketio.disconnect.io_server_disconnect'], 1);
  });
});

describe('a virtual user that leaves', () => {
  it('opens no more connections, and has none to open', async (t) => {
    const time = new VirtualTime(t);
    const { fleet, engine } = new Bench();
    const group = new ConnectionGroup(engine, 5);
    void group.open(100, '/', undefined);
    await time.pass(1000);
    const opened = fleet.connections.length;
    assert.ok(opened > 1 && opened < 10, `${opened}`);
    await group.close();
    await time.pass(60_000);
    assert.equal(fleet.connections.length, opened);
    assert.ok(fleet.connections.every(({ closed }) => closed));
    assert.equal(engine.tally.toOpen, 0);
  });

  it('is not counted on by one that was opening, and is through after that', async (t) => {
    const time = new VirtualTime(t);
    const { fleet, engine } = new Bench();
    const group = new ConnectionGroup(engine, 1000);
    const answer = Promise.withResolvers<void>();
    const connection = fleet.connection.bind(fleet);
    fleet.connection = () => {
      const made = connection();
      const open = made.open.bind(made);
      made.open = (...args) => answer.promise.then(() => open(...args));
      return made;
    };
    void group.open(3, '/', undefined);
    await time.pass(100);
    assert.equal(engine.tally.toOpen, 3);
    await group.close();
    answer.resolve();
    await time.pass(100);
    assert.equal(engine.tally.toOpen, 0);
  });

  it('emits no more', async (t) => {
    const time = new VirtualTime(t);
    const { engine } = new Bench();
    const group = new ConnectionGroup(engine, 10);
    await time.until(group.open(10, '/', undefined));
    let emitted = 0;
    void group.each(async () => void emitted++);
    await time.pass(300);
    await group.close();
    const before = emitted;
    assert.ok(before > 1 && before < 8, `${before}`);
    await time.pass(10_000);
    assert.equal(emitted, before);
  });
});
