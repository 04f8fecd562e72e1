/** Every connection of a virtual user that holds many is counted, and none after it has left. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectionGroup } from '../../../plugin/virtual-user/connection-group.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench } from '../../helpers/virtual-user.ts';

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

  it('that fails is an error by its cause, and closed', async () => {
    const bench = new Bench();
    bench.fleet.onOpen = () => bench.fleet.connections.length === 1 && bench.fleet.failures.push('http_502');
    const outcome = await bench.play([{ connect: { count: 3, ratePerSec: 5000 } }]);
    assert.deepEqual(outcome.errors, ['http_502']);
    assert.equal(bench.counters['socketio.connects'], 2);
    assert.deepEqual(
      bench.fleet.connections.map(({ closed }) => closed),
      [true, true, true],
    );
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
