import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '../../../plugin/fleet/fleet-error.ts';
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
    return this.bench.fleet.connections.map(({ orders }) => orders.length);
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
  for (const [name, step] of [
    ['think', { think: 1 }],
    ['an acknowledgement', { emit: ['ask'], acknowledge: true, timeout: 1 }],
    ['a response', { emit: ['ask'], response: { on: 'answer' } }],
    ['waitFor', { waitFor: { event: 'tick' } }],
  ] as const) {
    it(`ends the flow after ${name}, with the reason as its code`, async (t) => {
      const play = new Play(t);
      play.after(100, () => play.connection.drop('transport close'));
      const outcome = await play.flow({ connect: true }, step, { emit: ['never'] });
      const { bench } = play;
      assert.equal(outcome.error?.code, 'disconnected_transport_close');
      assert.deepEqual([outcome.started, outcome.callbacks, outcome.errors.length], [1, 1, 1]);
      assert.equal(bench.counters['socketio.disconnect.transport_close'], 1);
      assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
      assert.deepEqual(play.opens, [1]);
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
      assert.deepEqual(bench.engine.tally.failures, { [code]: 1 });
      assert.ok(!bench.fleet.sent.some(([, event]) => event === 'never'));
    });
  }

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
    signals.release();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
    assert.deepEqual([tally.failures, tally.holding], [{ disconnected_ping_timeout: 1 }, 0]);
  });

  it('fails, once, when the server refuses a join that nobody waits for', async (t) => {
    const play = new Play(t);
    const { tally, signals } = play.bench.engine;
    play.after(100, () => play.connection.refuse('join_refused'));
    play.after(200, () => play.connection.refuse('join_refused'));
    const done = play.flow({ emit: ['join_room', 'user:alice'] }, { hold: true });
    await play.time.pass(5000);
    assert.deepEqual([tally.failures, tally.holding], [{ join_refused: 1 }, 0]);
    signals.release();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'join_refused');
  });

  it('ends a held virtual user as failed, but not before its time', async (t) => {
    const play = new Play(t);
    const { signals } = play.bench.engine;
    play.after(100, () => play.connection.drop('ping timeout'));
    const done = play.flow({ connect: true }, { hold: true });
    await play.time.pass(5000);
    assert.equal(await Promise.race([done, 'held']), 'held');
    signals.release();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
  });

  it("that is no longer the virtual user's ends nothing", async (t) => {
    const play = new Play(t);
    play.after(100, () => play.bench.fleet.connections[0]?.drop('transport close'));
    const outcome = await play.flow({ connect: '/' }, { connect: '/' }, { think: 1 });
    assert.equal(outcome.error, null);
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
    const outcome = await play.flow(
      { connect: true },
      { emit: ['a'], namespace: '/chat' },
      { think: 0.5 },
      { emit: ['b'] },
      { emit: ['c'], namespace: '/chat' },
      { emit: ['d'], namespace: '/new' },
    );
    assert.equal(outcome.error, null);
    assert.deepEqual(play.connection.sent, [
      ['/chat', 'a'],
      ['/', 'b'],
      ['/chat', 'c'],
      ['/new', 'd'],
    ]);
    assert.ok(play.time.nowMs >= 2000);
    assert.equal(bench.counters['socketio.reconnect'], 2);
    assert.equal(bench.counters['socketio.retry'], 1);
    assert.equal(bench.counters['socketio.connects'], 3, 'returns not included');
  });

  it('holds up a namespace that is opened on it meanwhile', async (t) => {
    const play = new Play(t, { reconnection: true });
    dropAfter(play, 100);
    play.after(1100, () => play.connection.comeBack('/'));
    const opened: [string, number][] = [];
    play.bench.fleet.onOpen = (_, namespace) => opened.push([namespace, Math.round(play.time.nowMs / 100) * 100]);
    await play.flow({ connect: true }, { think: 0.5 }, { emit: ['d'], namespace: '/new' });
    assert.deepEqual(opened, [
      ['/', 0],
      ['/new', 1100],
    ]);
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

  it('can come back later than that', async (t) => {
    const play = new Play(t, { reconnection: true });
    play.bench.fleet.onOpen = (connection) => connection.drop('transport close', undefined, true);
    play.after(1000, () => play.connection.comeBack('/'));
    const outcome = await play.flow({ connect: true }, { emit: ['at last'] });
    assert.equal(outcome.error, null);
    assert.ok(play.time.nowMs >= 1000);
  });

  it('is lost when its process gives it up, with the reason of the drop', async (t) => {
    const play = new Play(t, { reconnection: true });
    const { bench } = play;
    dropAfter(play, 100);
    play.after(5000, () => play.connection.stayAway('transport close', 2));
    const outcome = await play.flow({ connect: true }, { think: 1 }, { emit: ['late'] });
    assert.equal(outcome.error?.code, 'disconnected_transport_close');
    assert.equal(bench.counters['socketio.retry'], 2);
    assert.deepEqual(bench.fleet.sent, []);
  });

  it('is lost with its process', async (t) => {
    const play = new Play(t, { reconnection: true });
    dropAfter(play, 100);
    play.after(5000, () => play.connection.drop('fleet process died'));
    const outcome = await play.flow({ connect: true }, { think: 1 }, { emit: ['late'] });
    assert.equal(outcome.error?.code, 'disconnected_fleet_process_died');
  });

  it('does not keep the virtual user from leaving, or from making another', async (t) => {
    const play = new Play(t, { reconnection: true });
    dropAfter(play, 100);
    const outcome = await play.flow({ connect: true }, { think: 0.5 }, { connect: '/' }, { think: 60 });
    assert.equal(outcome.error, null);
    assert.deepEqual(play.opens, [1, 1]);
    play.bench.fleet.connections[0]?.stayAway('transport close');
    assert.equal(play.bench.engine.tally.failed, 0);
  });
});

describe('connect time', () => {
  /** Each attempt waits 50 ms for its turn, and takes 200 ms. */
  function slow(play: Play): void {
    const { fleet } = play.bench;
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
  }
  const connectMs = ({ bench }: Play) => bench.histograms['socketio.connect_time']?.map(Math.round);

  it('counts from the turn of the first attempt', async (t) => {
    const play = new Play(t);
    slow(play);
    await play.flow({ connect: true });
    assert.deepEqual(connectMs(play), [200]);
  });

  it('counts from the step where it took several attempts', async (t) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
    slow(play);
    play.bench.fleet.failures.push('ECONNREFUSED', 'ECONNREFUSED');
    await play.flow({ connect: true });
    assert.deepEqual(connectMs(play), [250 + 1000 + 250 + 2000 + 250]);
  });

  it('is that of no connection that failed, which has no further attempt than asked for', async (t) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1 } });
    play.bench.fleet.failures.push('ECONNREFUSED', 'ECONNREFUSED', 'http_502');
    const outcome = await play.flow({ connect: true });
    assert.equal(outcome.error?.code, 'http_502');
    assert.deepEqual(play.opens, [3]);
    assert.equal(play.bench.engine.tally.retries, 2);
    assert.equal(connectMs(play), undefined);
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

it('closes what a failed flow has opened, and counts it once as failed', async () => {
  const bench = new Bench();
  await bench.play([{ emit: ['a'] }, { waitFor: { event: 'b', timeout: 0.001 } }]);
  await bench.play([{ emit: ['a'] }]);
  assert.deepEqual(
    bench.fleet.connections.map(({ closed }) => closed),
    [true, true],
  );
  const { started, ended, failed, failures } = bench.engine.tally;
  assert.deepEqual(
    { started, ended, failed, failures },
    { started: 2, ended: 2, failed: 1, failures: { wait_timeout: 1 } },
  );
});

describe('what the server said', () => {
  const refused = (retryAfterMs: number | undefined, data?: unknown) =>
    new FleetError('http_429', 'the server answered 429\x1b[2J', data, retryAfterMs);

  it('is kept of the first failure of each code, printable and with its data', async () => {
    const bench = new Bench();
    bench.fleet.failures.push(refused(undefined, { hint: 'ask Ali' }), refused(undefined), 'ECONNREFUSED');
    for (let user = 0; user < 3; user++) await bench.play([{ connect: true }]);
    assert.deepEqual(bench.engine.tally.examples, {
      http_429: 'the server answered 429\\u{1b}[2J {"hint":"ask Ali"}',
      ECONNREFUSED: 'refused: ECONNREFUSED',
    });
    assert.deepEqual(bench.engine.tally.failures, { http_429: 2, ECONNREFUSED: 1 });
  });

  it('is kept of an attempt that a retry made good, and its Retry-After is obeyed', async (t) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
    play.bench.fleet.failures.push(refused(30_000));
    const { error } = await play.flow({ connect: true });
    assert.equal(error, null);
    assert.ok(play.time.nowMs >= 30_000, String(play.time.nowMs));
    assert.match(String(play.bench.engine.tally.examples.http_429), /429/);
  });

  it('ends the retries if it is to stay away for longer than a run can wait', async (t) => {
    const play = new Play(t, { retry: { attempts: 5, delay: 1 } });
    play.bench.fleet.failures.push(refused(86_400_000));
    const { error } = await play.flow({ connect: true });
    assert.equal(error?.code, 'http_429');
    assert.equal(play.bench.engine.tally.retries, 0);
  });
});
