import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '../../../plugin/fleet/fleet-error.ts';
import { loadHttpEngine } from '../../../plugin/virtual-user/artillery.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { column, columns } from '../../helpers/columns.ts';
import { listen } from '../../helpers/listen.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench, type Outcome } from '../../helpers/virtual-user.ts';

/** A virtual user in virtual time, on a connection that the test drops. */
class Play {
  readonly time: VirtualTime;
  readonly bench: Bench;

  constructor(t: TestContext, options: object = {}) {
    this.time = new VirtualTime(t);
    this.bench = new Bench({ ...options });
  }

  get connection() {
    return this.bench.fleet.only;
  }

  /** Counts of attempts to open, by connection. */
  get opens(): number[] {
    return this.bench.fleet.connections.map(({ overrides }) => overrides.length);
  }

  /** @param ms from now */
  after(ms: number, event: () => void): void {
    setTimeout(event, ms);
  }

  async flow(...steps: unknown[]): Promise<Outcome> {
    return this.time.until(this.bench.play(steps));
  }
}

describe('a dropped connection', () => {
  it('ends the flow after the step, with the reason as its code', async (t) => {
    for (const step of [
      { think: 1 },
      { emit: ['ask'], acknowledge: true, timeout: 1 },
      { emit: ['ask'], response: { on: 'answer' } },
      { waitFor: { event: 'tick' } },
    ]) {
      const play = new Play(t);
      play.after(100, () => play.connection.drop('transport close'));
      const outcome = await play.flow({ connect: true }, step, { emit: ['never'] });
      const { bench } = play;
      assert.equal(outcome.error?.code, 'disconnected_transport_close', JSON.stringify(step));
      assert.deepEqual([outcome.started, outcome.callbacks, outcome.errors.length], [1, 1, 1]);
      assert.equal(bench.counters['socketio.disconnect.transport_close'], 1);
      assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
      assert.deepEqual(play.opens, [1]);
      t.mock.timers.reset();
    }
  });

  it('is a failure where it ends in the same breath as it opens', async () => {
    const bench = new Bench();
    // Both in one message: the promise of the opening has not been taken in when the end is reported.
    bench.fleet.onOpen = (connection) => connection.drop('transport close');
    const outcome = await bench.play([{ connect: true }, { emit: ['never'] }]);
    assert.equal(outcome.error?.code, 'disconnected_transport_close');
    assert.deepEqual(bench.engine.tally.failures, { disconnected_transport_close: 1 });
    assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
  });

  it('counts as failed when it is lost, not when its step ends; and once', async (t) => {
    const play = new Play(t);
    const { tally, signals } = play.bench.engine;
    play.after(100, () => play.connection.drop('ping timeout'));
    play.after(200, () => play.connection.drop('transport close'));
    const done = play.flow({ connect: true }, { emit: ['a'], namespace: '/chat' }, { hold: true });
    await play.time.pass(50);
    assert.deepEqual([tally.failed, tally.holding], [0, 1]);
    await play.time.pass(5000);
    assert.deepEqual([tally.failed, tally.holding, tally.ended], [1, 0, 0]);
    assert.equal(await Promise.race([done, 'held']), 'held');
    signals.release.resolve();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
    assert.deepEqual([tally.failures, tally.holding], [{ disconnected_ping_timeout: 1 }, 0]);
  });

  it('is not the only failure: a server can refuse a join that nobody waits for', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection) => {
      for (let time = 0; time < 2; time++) connection.refuse('join_refused');
    };
    const { error } = await bench.play([{ emit: ['join_room', 'user:alice'] }, { think: 0 }]);
    assert.deepEqual([error?.code, bench.engine.tally.failures], ['join_refused', { join_refused: 1 }]);
  });
});

describe('a connection that its process brings back', () => {
  /** Dropped after `ms`, with all its namespaces. */
  const dropAfter = (play: Play, ms: number) =>
    play.after(ms, () => play.connection.drop('transport close', undefined, true));

  it('carries all its namespaces again, and what is sent meanwhile waits for it', async (t) => {
    const play = new Play(t, { reconnection: true });
    const { bench } = play;
    dropAfter(play, 100);
    play.after(1000, () => play.connection.comeBack('/', 1));
    play.after(2000, () => play.connection.comeBack('/chat'));
    const opened: [string, number][] = [];
    bench.fleet.onOpen = (_, namespace) => opened.push([namespace, Math.round(play.time.nowMs / 1000)]);
    const outcome = await play.flow(
      { connect: true },
      { emit: ['a'], namespace: '/chat' },
      { think: 0.5 },
      { emit: ['d'], namespace: '/new' },
      { emit: ['b'] },
      { emit: ['c'], namespace: '/chat' },
    );
    assert.equal(outcome.error, null);
    assert.deepEqual(play.connection.sent, [
      ['/chat', 'a'],
      ['/new', 'd'],
      ['/', 'b'],
      ['/chat', 'c'],
    ]);
    assert.deepEqual(opened, [
      ['/', 0],
      ['/chat', 0],
      ['/new', 1],
    ]);
    assert.ok(play.time.nowMs >= 2000);
    assert.equal(bench.counters['socketio.reconnect'], 2);
    assert.equal(bench.counters['socketio.retry'], 1);
    assert.equal(bench.counters['socketio.connects'], 3, 'returns not included');
  });

  it('can drop and come back in the same breath as it opens', async () => {
    const bench = new Bench({ reconnection: true });
    bench.fleet.onOpen = (connection) => {
      connection.drop('transport close', undefined, true);
      connection.comeBack('/');
    };
    const outcome = await bench.play([{ connect: true }, { emit: ['at last'] }]);
    assert.equal(outcome.error, null);
    assert.deepEqual(bench.fleet.sent, [['/', 'at last']]);
  });

  it('is lost when its process gives it up, or dies', async (t) => {
    for (const [lose, reason, retries] of [
      [(play: Play) => play.connection.stayAway('transport close', 2), 'transport_close', 2],
      [(play: Play) => play.connection.drop('fleet process died'), 'fleet_process_died', undefined],
    ] as const) {
      const play = new Play(t, { reconnection: true });
      dropAfter(play, 100);
      play.after(5000, () => lose(play));
      const outcome = await play.flow({ connect: true }, { think: 1 }, { emit: ['late'] });
      assert.equal(outcome.error?.code, `disconnected_${reason}`);
      assert.deepEqual([play.bench.counters['socketio.retry'], play.bench.fleet.sent], [retries, []]);
      t.mock.timers.reset();
    }
  });

  it('does not keep the virtual user from leaving, or from making another', async (t) => {
    const play = new Play(t, { reconnection: true });
    dropAfter(play, 100);
    const outcome = await play.flow({ connect: true }, { think: 0.5 }, { connect: '/' }, { think: 60 });
    assert.equal(outcome.error, null);
    assert.deepEqual(play.opens, [1, 1]);
    for (const end of ['stayAway', 'drop'] as const) play.bench.fleet.connections[0]?.[end]('transport close');
    assert.equal(play.bench.engine.tally.failed, 0);
  });
});

it('connect time counts from the turn of the first attempt, or from the step where it took several', async (t) => {
  /** Each attempt waits 50 ms for its turn, and takes 200 ms. */
  const timesOf = async (failures: FailureCode[]) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
    const { fleet, histograms, engine } = play.bench;
    const connection = fleet.connection.bind(fleet);
    fleet.connection = () => {
      const made = connection();
      const open = made.open.bind(made);
      made.open = async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 250));
        const { openedAtUs } = await open(...args);
        return { begunAtUs: openedAtUs - 200_000, openedAtUs };
      };
      return made;
    };
    fleet.failures.push(...failures);
    const { error } = await play.flow({ connect: true });
    const times = histograms['socketio.connect_time']?.map(Math.round);
    t.mock.timers.reset();
    return [error?.code, times, engine.tally.retries];
  };
  assert.deepEqual(await timesOf([]), [undefined, [200], 0]);
  const two: FailureCode[] = ['ECONNREFUSED', 'ECONNREFUSED'];
  assert.deepEqual(await timesOf(two), [undefined, [250 + 1000 + 250 + 2000 + 250], 2]);
  assert.deepEqual(await timesOf([...two, 'http_502']), ['http_502', undefined, 2]);
});

it('disconnect leaves; a later step opens a new connection', async () => {
  const bench = new Bench();
  const outcome = await bench.play([{ emit: ['a'] }, { disconnect: true }, { emit: ['b'] }]);
  assert.equal(outcome.error, null);
  assert.deepEqual(columns(bench.fleet.connections, 'closed', 'sent'), {
    closed: [true, true],
    sent: [[['/', 'a']], [['/', 'b']]],
  });
});

it('closes what a failed flow has opened, and counts it once as failed', async () => {
  const bench = new Bench();
  await bench.play([{ emit: ['a'] }, { waitFor: { event: 'b', timeout: 0.001 } }]);
  await bench.play([{ emit: ['a'] }]);
  assert.deepEqual(column(bench.fleet.connections, 'closed'), [true, true]);
  const { started, ended, failed, failures } = bench.engine.tally;
  assert.deepEqual(
    { started, ended, failed, failures },
    { started: 2, ended: 2, failed: 1, failures: { wait_timeout: 1 } },
  );
});

describe('what the server said', () => {
  const refused = (data?: unknown) => new FleetError('http_429', 'the server answered 429\x1b[2J', data);

  it('is kept of the first failure of each code, printable and with its data', async () => {
    const bench = new Bench();
    bench.fleet.failures.push(refused({ hint: 'ask Ali' }), refused(), 'ECONNREFUSED');
    for (let user = 0; user < 3; user++) await bench.play([{ connect: true }]);
    assert.deepEqual(bench.engine.tally.examples, {
      http_429: 'the server answered 429\\u{1b}[2J {"hint":"ask Ali"}',
      ECONNREFUSED: 'refused: ECONNREFUSED',
    });
    assert.deepEqual(bench.engine.tally.failures, { http_429: 2, ECONNREFUSED: 1 });
  });

  it('is told with the login before, if that was refused', async (t) => {
    const { url, close } = await listen((_request, response) => response.writeHead(401).end());
    t.after(close);
    const bench = new Bench({}, {}, url);
    bench.engine.http = await loadHttpEngine({ config: { target: url } });
    bench.fleet.failures.push('http_401');
    await bench.play([{ post: { url: '/login?key=secret', json: {} } }, { connect: true }]);
    assert.deepEqual(bench.engine.tally.examples, {
      http_401: 'POST /login answered 401; then refused: http_401',
    });
  });

  it('is kept of an attempt that a retry made good', async (t) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
    play.bench.fleet.failures.push(refused());
    const { error } = await play.flow({ connect: true });
    assert.equal(error, null);
    assert.match(String(play.bench.engine.tally.examples.http_429), /429/);
  });
});
