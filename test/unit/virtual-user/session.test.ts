import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '../../../plugin/fleet/client/failure.ts';
import { loadHttpEngine } from '../../../plugin/virtual-user/artillery-types.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { column, columns } from '../../helpers/columns.ts';
import { listen } from '../../helpers/listen.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench, type Outcome } from '../../helpers/virtual-user.ts';

/** Plays a virtual user in simulated time, on a connection that the test drops. */
class Play extends Bench {
  readonly time: VirtualTime;

  constructor(t: TestContext, options: Record<string, unknown> = {}) {
    super(options);
    this.time = new VirtualTime(t);
  }

  /**
   * @param ms delay from now in milliseconds
   * @param returns whether the connection returns, with all its namespaces
   */
  dropAfter(ms: number, returns = false, reason = 'transport close'): void {
    setTimeout(() => this.fleet.only.drop(reason, undefined, returns), ms);
  }

  flow(...steps: unknown[]): Promise<Outcome> {
    return this.time.until(this.play(steps));
  }
}

describe('a dropped connection', () => {
  for (const step of [
    { think: 1 },
    { emit: ['ask'], acknowledge: true, timeout: 1 },
    { emit: ['ask'], response: { on: 'answer' } },
    { waitFor: { event: 'tick' } },
  ]) {
    it(`a dropped connection ends the flow after ${JSON.stringify(step)}, with the reason as its code`, async (t) => {
      const play = new Play(t);
      play.dropAfter(100);
      const { error, started, callbacks, errors } = await play.flow({ connect: true }, step, { emit: ['never'] });
      const code = 'disconnected_transport_close';
      assert.deepEqual([error?.code, started, callbacks, errors], [code, 1, 1, [code]]);
      assert.equal(play.counters['socketio.disconnect.transport_close'], 1);
      assert.ok(!play.fleet.sent.some(([, event]) => event === 'never'));
      assert.equal(play.fleet.only.overrides.length, 1, 'it was opened once');
    });
  }

  it('a virtual user fails if its connection drops directly after it opened', async () => {
    const bench = new Bench();
    // The drop and the opening arrive in one message. The drop is reported before the promise of the opening is
    // handled.
    bench.fleet.onOpen = (connection) => connection.drop('transport close');
    assert.equal(await bench.codeOf({ connect: true }, { emit: ['never'] }), 'disconnected_transport_close');
    const { losses, failures } = bench.engine.tally;
    assert.deepEqual([losses, failures, bench.fleet.sent], [{ disconnected_transport_close: 1 }, {}, []]);
  });

  it('a dropped connection fails its user once, when it drops, not when its step ends', async (t) => {
    const play = new Play(t);
    const { tally, signals } = play.engine;
    play.dropAfter(100, false, 'ping timeout');
    play.dropAfter(200);
    const done = play.flow({ connect: true }, { emit: ['a'], namespace: '/chat' }, { hold: true });
    await play.time.pass(50);
    assert.deepEqual([tally.failed, tally.holding], [0, 1]);
    await play.time.pass(5000);
    assert.deepEqual([tally.failed, tally.holding, tally.ended], [1, 0, 0]);
    assert.equal(await Promise.race([done, 'held']), 'held');
    signals.release.resolve();
    signals.finish.resolve();
    assert.equal((await done).error?.code, 'disconnected_ping_timeout');
    assert.deepEqual([tally.losses, tally.failures, tally.holding], [{ disconnected_ping_timeout: 1 }, {}, 0]);
  });

  it('a virtual user also fails if the server refuses a join that no step awaits', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection) => {
      for (let time = 0; time < 2; time++) connection.refuse('join_refused');
    };
    assert.equal(await bench.codeOf({ emit: ['join_room', 'user:alice'] }, { think: 0 }), 'join_refused');
    assert.deepEqual(bench.engine.tally.failures, { join_refused: 1 });
  });
});

describe('a connection that its process reopens', () => {
  it('a step that fails during a reconnect counts its connection as lost, and the user as failed once', async (t) => {
    const play = new Play(t, { reconnection: true });
    play.dropAfter(100, true);
    const { error } = await play.flow({ connect: true }, { think: 0.05 }, { emit: ['a'], acknowledge: true });
    const { losses, failures } = play.engine.tally;
    assert.deepEqual([error?.code, losses, failures], ['ack_timeout', { ack_timeout: 1 }, {}]);
  });

  it('a reconnect restores all namespaces, and messages sent during it wait for it', async (t) => {
    const play = new Play(t, { reconnection: true });
    play.dropAfter(100, true);
    setTimeout(() => play.fleet.only.comeBack('/', 1), 1000);
    setTimeout(() => play.fleet.only.comeBack('/chat'), 2000);
    const opened: string[] = [];
    play.fleet.onOpen = (_, namespace) => opened.push(`${namespace} in second ${Math.round(play.time.nowMs / 1000)}`);
    const { error } = await play.flow(
      { connect: true },
      { emit: ['a'], namespace: '/chat' },
      { think: 0.5 },
      { emit: ['d'], namespace: '/new' },
      { emit: ['b'] },
      { emit: ['c'], namespace: '/chat' },
    );
    assert.equal(error, null);
    assert.deepEqual(play.fleet.only.sent.map(String), ['/chat,a', '/new,d', '/,b', '/chat,c']);
    assert.deepEqual(opened, ['/ in second 0', '/chat in second 0', '/new in second 1']);
    assert.ok(play.time.nowMs >= 2000);
    const [returns, retries, connects] = ['reconnect', 'retry', 'connects'].map(
      (name) => play.counters[`socketio.${name}`],
    );
    assert.deepEqual([returns, retries], [2, 1]);
    assert.equal(connects, 3, 'returns not included');
  });

  it('a connection can drop and reconnect in the same batch of reports as its opening', async () => {
    const bench = new Bench({ reconnection: true });
    bench.fleet.onOpen = (connection) => {
      connection.drop('transport close', undefined, true);
      connection.comeBack('/');
    };
    await bench.passes([{ connect: true }, { emit: ['at last'] }]);
    assert.deepEqual(bench.fleet.sent, [['/', 'at last']]);
  });

  for (const [end, reason, retries] of [
    ['stayAway', 'transport close', 2],
    ['drop', 'fleet process died', undefined],
  ] as const) {
    it(`counts a connection as lost if its process gives up or dies: ${reason}`, async (t) => {
      const play = new Play(t, { reconnection: true });
      play.dropAfter(100, true);
      setTimeout(
        () => (end === 'drop' ? play.fleet.only.drop(reason) : play.fleet.only.stayAway(reason, retries)),
        5000,
      );
      const { error } = await play.flow({ connect: true }, { think: 1 }, { emit: ['late'] });
      assert.equal(error?.code, `disconnected_${reason.replaceAll(' ', '_')}`);
      assert.deepEqual([play.counters['socketio.retry'], play.fleet.sent], [retries, []]);
    });
  }

  it('a virtual user can leave, or open another connection, during a reconnect', async (t) => {
    const play = new Play(t, { reconnection: true });
    play.dropAfter(100, true);
    const { error } = await play.flow({ connect: true }, { think: 0.5 }, { connect: '/' }, { think: 60 });
    assert.deepEqual([error, play.fleet.connections.length], [null, 2]);
    for (const end of ['stayAway', 'drop'] as const) play.fleet.connections[0]?.[end]('transport close');
    assert.equal(play.engine.tally.failed, 0);
  });
});

describe('connect time', () => {
  const TWO: FailureCode[] = ['ECONNREFUSED', 'ECONNREFUSED'];
  for (const [what, failures, ...expected] of [
    ['from the start of the only attempt', [], undefined, [200], 0],
    ['from the step if it took several attempts', TWO, undefined, [250 + 1000 + 250 + 2000 + 250], 2],
    ['never if all attempts fail', [...TWO, 'http_502'], 'http_502', undefined, 2],
  ] as [string, FailureCode[], ...unknown[]][]) {
    it(`counts the connect time ${what}`, async (t) => {
      const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
      const { fleet, histograms, engine } = play;
      const connection = fleet.connection.bind(fleet);
      fleet.connection = () => {
        const made = connection();
        const open = made.open.bind(made);
        // Each attempt waits 50 ms for its turn and takes 200 ms.
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
      assert.deepEqual([error?.code, times, engine.tally.retries], expected);
    });
  }
});

it('a disconnect step closes the connection, and a later step opens a new connection', async () => {
  const bench = new Bench();
  await bench.passes([{ emit: ['a'] }, { disconnect: true }, { emit: ['b'] }]);
  assert.deepEqual(columns(bench.fleet.connections, 'closed', 'sent'), {
    closed: [true, true],
    sent: [[['/', 'a']], [['/', 'b']]],
  });
});

it('a failed flow closes all its connections, and counts once as failed', async () => {
  const bench = new Bench();
  await bench.play([{ emit: ['a'] }, { waitFor: { event: 'b', timeout: 0.001 } }]);
  await bench.play([{ emit: ['a'] }]);
  assert.deepEqual(column(bench.fleet.connections, 'closed'), [true, true]);
  const { started, ended, failed, failures } = bench.engine.tally;
  assert.deepEqual([started, ended, failed, failures], [2, 2, 1, { wait_timeout: 1 }]);
});

describe("the server's message", () => {
  const refused = (data?: unknown) => new FleetError('http_429', 'the server answered 429\x1b[2J', data);

  it("keeps the server's message of the first failure of each code, printable and with its data", async () => {
    const bench = new Bench();
    bench.fleet.failures.push(refused({ hint: 'ask Ali' }), refused(), 'ECONNREFUSED');
    for (let user = 0; user < 3; user++) await bench.play([{ connect: true }]);
    assert.deepEqual(bench.engine.tally.examples, {
      http_429: 'the server answered 429\\u{1b}[2J {"hint":"ask Ali"}',
      ECONNREFUSED: 'refused: ECONNREFUSED',
    });
    assert.deepEqual(bench.engine.tally.failures, { http_429: 2, ECONNREFUSED: 1 });
  });

  it("reports the server's message with the earlier login if that was refused", async (t) => {
    const { url, close } = await listen((_request, response) => response.writeHead(401).end());
    t.after(close);
    const bench = new Bench({}, {}, url);
    bench.engine.http = await loadHttpEngine({ config: { target: url } });
    bench.fleet.failures.push('http_401');
    await bench.play([{ post: { url: '/login?key=secret', json: {} } }, { connect: true }]);
    assert.match(bench.engine.tally.examples.http_401 ?? '', /POST \/login answered 401; .*http_401$/);
  });

  it("reports the server's message from a failed attempt that was retried", async (t) => {
    const play = new Play(t, { retry: { attempts: 2, delay: 1, jitter: 0 } });
    play.fleet.failures.push(refused());
    assert.equal((await play.flow({ connect: true })).error, null);
    assert.match(String(play.engine.tally.examples.http_429), /429/);
  });
});
