import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const FAST = { attempts: 3, delay: 0.001, maxDelay: 0.002 };

/** Plays the flow and drops the connection as soon as it is open. */
async function playAndDrop(bench: Bench, flow: unknown[], reason = 'transport close', namespace?: string) {
  let drops = 0;
  bench.fleet.onOpen = (connection) => {
    if (drops++ === 0) setImmediate(() => connection.drop(reason, namespace));
  };
  return bench.play(flow);
}

describe('a dropped connection', () => {
  for (const [name, step] of [
    ['think', { think: 0.02 }],
    ['an acknowledgement', { emit: ['ask'], acknowledge: true, timeout: 0.05 }],
    ['a response', { emit: ['ask'], response: { on: 'answer' } }],
    ['waitFor', { waitFor: { event: 'tick' } }],
  ] as const) {
    it(`ends the flow after ${name}, with the reason as its code`, async () => {
      const bench = new Bench();
      const outcome = await playAndDrop(bench, [{ connect: true }, step, { emit: ['never'] }]);
      assert.equal(outcome.error?.code, 'disconnected_transport_close');
      assert.deepEqual([outcome.started, outcome.callbacks, outcome.errors.length], [1, 1, 1]);
      assert.equal(bench.counters['socketio.disconnect.transport_close'], 1);
      assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
    });
  }

  for (const reason of ['io server disconnect', 'transport close']) {
    it(`is a failure where it ends in the same breath as it opens: ${reason}`, async () => {
      const bench = new Bench();
      // Both in one message: the promise of the opening has not been taken in when the end is reported.
      bench.fleet.onOpen = (connection) => connection.drop(reason);
      const outcome = await bench.play([{ connect: true }, { emit: ['never'] }]);
      const code = `disconnected_${reason.replaceAll(' ', '_')}`;
      assert.equal(outcome.error?.code, code);
      assert.deepEqual(bench.run.tally.failures, { [code]: 1 });
      assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
    });
  }

  it('that ended at once comes back where it is asked to', async () => {
    const bench = new Bench({ reconnection: FAST });
    let opens = 0;
    bench.fleet.onOpen = (connection) => ++opens <= 2 && connection.drop('transport close');
    const outcome = await bench.play([{ connect: true }, { emit: ['at last'] }]);
    assert.equal(outcome.error, null);
    assert.equal(opens, 3);
    assert.deepEqual(bench.fleet.sent, [['/', 'at last']]);
  });

  it('counts as failed when it is lost, not when its step ends; and once', async () => {
    const bench = new Bench();
    const done = playAndDrop(
      bench,
      [{ connect: true }, { emit: ['a'], namespace: '/chat' }, { hold: true }],
      'ping timeout',
    );
    while (bench.run.tally.failed === 0) await turn();
    const { tally, signals } = bench.run;
    assert.deepEqual([tally.failed, tally.holding, tally.ended], [1, 0, 0]);
    bench.fleet.only.drop('transport close');
    signals.release.resolve();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
    assert.deepEqual([tally.failures, tally.holding], [{ disconnected_ping_timeout: 1 }, 0]);
  });

  it('ends a held virtual user as failed, but not before its time', async () => {
    const bench = new Bench();
    const done = playAndDrop(bench, [{ connect: true }, { hold: true }], 'ping timeout');
    await turn();
    await turn();
    assert.equal(await Promise.race([done, 'held']), 'held');
    bench.run.signals.release.resolve();
    bench.run.signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
  });

  it('comes back with all its namespaces when asked to', async () => {
    const bench = new Bench({ reconnection: FAST });
    let opens = 0;
    bench.fleet.onOpen = (connection) => {
      if (++opens === 2) {
        setImmediate(() => {
          bench.fleet.failures.push('ECONNREFUSED');
          connection.drop('transport close');
        });
      }
    };
    const outcome = await bench.play([
      { connect: true },
      { emit: ['a'], namespace: '/chat' },
      { think: 0.005 },
      { emit: ['b'] },
      { emit: ['c'], namespace: '/chat' },
    ]);
    assert.equal(outcome.error, null);
    assert.deepEqual(bench.fleet.only.sent, [
      ['/chat', 'a'],
      ['/', 'b'],
      ['/chat', 'c'],
    ]);
    assert.equal(bench.run.tally.reconnects, 2);
    assert.equal(bench.counters['socketio.reconnect'], 2);
    assert.equal(bench.run.tally.retries, 1);
  });

  it('is given up after the last attempt', async () => {
    const bench = new Bench({ reconnection: FAST });
    bench.fleet.onOpen = (connection) => {
      bench.fleet.failures.push('ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED');
      setImmediate(() => connection.drop('transport close'));
    };
    const outcome = await bench.play([{ connect: true }, { think: 0.01 }, { emit: ['late'] }]);
    assert.equal(outcome.error?.code, 'disconnected_transport_close');
  });

  it('stays away when the server sent it away', async () => {
    const bench = new Bench({ reconnection: FAST });
    const outcome = await playAndDrop(bench, [{ connect: true }, { think: 0.01 }], 'io server disconnect', '/');
    assert.equal(outcome.error?.code, 'disconnected_io_server_disconnect');
  });

  it('is not restored for a virtual user that has left', async () => {
    const bench = new Bench({ reconnection: FAST });
    await playAndDrop(bench, [{ connect: true }, { function: 'pause' }].slice(0, 1));
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(bench.run.tally.reconnects, 0);
    assert.equal(bench.fleet.connections.length, 1);
  });
});

describe('disconnect', () => {
  it('leaves; a later step opens a new connection', async () => {
    const bench = new Bench();
    const outcome = await bench.play([{ emit: ['a'] }, { disconnect: true }, { emit: ['b'] }]);
    assert.equal(outcome.error, null);
    assert.deepEqual(
      bench.fleet.connections.map(({ closed, sent }) => [closed, sent]),
      [
        [true, [['/', 'a']]],
        [true, [['/', 'b']]],
      ],
    );
  });
});

it('closes what a failed flow has opened', async () => {
  const bench = new Bench();
  await bench.play([{ emit: ['a'] }, { waitFor: { event: 'b', timeout: 0.001 } }]);
  assert.equal(bench.fleet.only.closed, true);
});
