/** Steps that talk to the server: connect, emit, waitFor. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

describe('connect', () => {
  it('templates its options for each virtual user', async () => {
    const bench = new Bench({ extraHeaders: { a: '1' }, query: { v: 4 } });
    await bench.play([{ connect: { auth: { token: '{{ token }}' }, query: { u: '{{ n }}' }, headers: { b: '2' } } }], {
      token: 'secret',
      n: 7,
    });
    assert.deepEqual(bench.fleet.only.overrides, [
      { auth: { token: 'secret' }, query: { v: '4', u: 7 }, headers: { a: '1', b: '2' } },
    ]);
  });

  it('opens the namespace that it names, in place of the connection that carried it', async () => {
    const bench = new Bench();
    const replaced: unknown[] = [];
    const opened: string[] = [];
    bench.fleet.onOpen = (_, namespace) => {
      opened.push(namespace);
      replaced.push(bench.fleet.connections.map(({ closed }) => closed));
    };
    await bench.play([{ connect: true }, { connect: '/chat' }, { connect: { namespace: 'chat' } }]);
    assert.deepEqual(opened, ['/', '/chat', '/chat']);
    assert.deepEqual(replaced.at(-1), [false, true, false]);
    assert.equal(bench.counters['socketio.connects'], 3);
    assert.equal(bench.histograms['socketio.connect_time']?.length, 3);
  });

  it('fails with the cause as the code', async () => {
    const bench = new Bench();
    bench.fleet.failures.push('http_502');
    const outcome = await bench.play([{ connect: true }, { emit: ['never'] }]);
    assert.equal(outcome.error?.code, 'http_502');
    assert.deepEqual(outcome.errors, ['http_502']);
    assert.deepEqual(bench.engine.tally.failures, { http_502: 1 });
    assert.deepEqual(bench.fleet.sent, []);
  });

  it('puts the path of the target before the namespaces, as socket.io-client does', async () => {
    const bench = new Bench({}, {}, 'http://127.0.0.1:1/tenant');
    const opened: string[] = [];
    bench.fleet.onOpen = (_, namespace) => opened.push(namespace);
    await bench.play([{ emit: ['a'] }, { emit: ['a'], namespace: '/chat' }, { emit: ['a'], namespace: '/' }]);
    assert.deepEqual(opened, ['/tenant', '/tenant/chat']);
  });
});

describe('every', () => {
  const spec = { seconds: 10, emit: { channel: 'batch', data: { n: 1 } } };

  it('starts on the connection that it needs, and ends at once', async () => {
    const bench = new Bench({}, {}, 'http://127.0.0.1:1/tenant');
    const outcome = await bench.play([{ every: { ...spec, acknowledge: true }, namespace: 'chat' }]);
    assert.equal(outcome.error, null);
    const connection = bench.fleet.only;
    assert.deepEqual(connection.overrides.length, 1);
    const message = { namespace: '/tenant/chat', event: 'batch', args: [{ n: 1 }] };
    assert.deepEqual(connection.repeated, [{ ...message, periodUs: 10_000_000, count: 1, acknowledge: true }]);
    assert.deepEqual(connection.sent, []);
  });

  it('puts as many copies of its data in a message as it is to have events', async () => {
    const bench = new Bench();
    await bench.play([{ every: { ...spec, emit: ['batch', 'e'], events: 3, count: 2 } }]);
    const [message] = bench.fleet.only.repeated;
    assert.deepEqual([message?.args, message?.count, message?.acknowledge], [[['e', 'e', 'e']], 2, false]);
  });
});

describe('emit', () => {
  it('opens the connection it needs and sends a list, or channel and data', async () => {
    const bench = new Bench();
    await bench.play(
      [
        { emit: ['join', '{{ room }}', { n: '{{ n }}' }, 3] },
        { emit: { channel: 'say', data: { text: '{{ room }}' } } },
        { emit: ['x'], namespace: 'chat' },
      ],
      { room: 'lobby', n: 5 },
    );
    assert.deepEqual(bench.fleet.only.sent, [
      ['/', 'join', 'lobby', { n: 5 }, 3],
      ['/', 'say', { text: 'lobby' }],
      ['/chat', 'x'],
    ]);
    assert.equal(bench.counters['socketio.emit'], 3);
    assert.equal(bench.counters['socketio.connects'], 2);
  });

  it('checks and captures from an acknowledgement', async () => {
    const bench = new Bench();
    bench.fleet.onAck = (event) => (event === 'one' ? [{ room: 'r1', count: 0 }] : ['ok', { id: 9 }]);
    const outcome = await bench.play([
      {
        emit: ['one'],
        acknowledge: { match: { json: '$.room', value: 'r1' }, capture: { json: '$.room', as: 'room' } },
      },
      { emit: ['one'], acknowledge: { capture: [{ json: '$.count', as: 'zero' }] } },
      { emit: ['two'], acknowledge: { match: { value: 'ok' }, capture: { json: '$.1.id', as: 'id' } } },
      { emit: ['one'], acknowledge: { args: { room: 'r1', count: 0 } } },
      { emit: ['two'], acknowledge: { data: ['ok', { id: '9' }] } },
      { emit: ['two'], acknowledge: true },
    ]);
    assert.equal(outcome.error, null);
    assert.deepEqual([outcome.vars.room, outcome.vars.zero, outcome.vars.id], ['r1', 0, 9]);
    assert.equal(bench.histograms['socketio.ack_time']?.length, 6);
  });

  it('fails by what is wrong with the acknowledgement', async () => {
    for (const [acknowledge, code] of [
      [{ match: { json: '$.room', value: 'other' } }, 'failed_match'],
      [{ args: { room: 'other' } }, 'data_not_valid'],
      [{ capture: { json: '$.missing', as: 'x' } }, 'failed_capture'],
    ] as const) {
      const bench = new Bench();
      bench.fleet.onAck = () => [{ room: 'r1' }];
      const outcome = await bench.play([{ emit: ['one'], acknowledge }, { emit: ['never'] }]);
      assert.deepEqual([outcome.error?.code, bench.fleet.sent.length], [code, 1]);
    }
  });

  it('listens for the response before it sends', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection, namespace) => connection.deliver(namespace, 'answer', { id: 1 });
    const outcome = await bench.play([
      { emit: ['ask'], response: { on: 'answer', capture: { json: '$.id', as: 'id' } } },
    ]);
    assert.equal(outcome.error, null);
    assert.equal(outcome.vars.id, 1);
    assert.equal(bench.histograms['socketio.response_time']?.length, 1);
    assert.equal(bench.fleet.only.listenerCount, 0);
  });

  it('gives up on a response or acknowledgement that does not come', async () => {
    for (const [step, code] of [
      [{ emit: ['ask'], response: { on: 'answer' }, timeout: 0.01 }, 'response_timeout'],
      [{ emit: ['ask'], acknowledge: true, timeout: '10ms' }, 'ack_timeout'],
      [{ emit: ['ask'], acknowledge: true, response: { channel: 'answer' }, timeout: 0.01 }, 'ack_timeout'],
    ] as const) {
      const bench = new Bench();
      const outcome = await bench.play([step]);
      assert.equal(outcome.error?.code, code);
      bench.fleet.only.deliver('/', 'answer', 'too late');
      assert.equal(outcome.callbacks, 1);
      assert.equal(bench.fleet.only.listenerCount, 0);
    }
  });
});

describe('waitFor', () => {
  it('takes an event that came between two steps', async () => {
    const bench = new Bench();
    bench.fleet.onOpen = (connection, namespace) => connection.deliver(namespace, 'welcome', { id: 4 });
    const outcome = await bench.play([
      { connect: true },
      { think: 0.005 },
      { waitFor: { event: 'welcome', capture: { json: '$.id', as: 'id' } } },
    ]);
    assert.equal(outcome.error, null);
    assert.equal(outcome.vars.id, 4);
  });

  it('passes over events that do not match', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection, namespace) => {
      for (const n of [1, 2, 3]) connection.deliver(namespace, 'tick', { n });
    };
    const outcome = await bench.play([
      { emit: ['go'] },
      { waitFor: { event: 'tick', match: { json: '$.n', value: 2 } } },
      { waitFor: { event: 'tick', capture: { json: '$.n', as: 'n' } } },
    ]);
    assert.equal(outcome.error, null);
    assert.equal(outcome.vars.n, 3);
  });

  it('waits for an event whose name is only known to the virtual user', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection) => setImmediate(() => connection.deliver('/', 'for-ann'));
    const flow = [{ emit: ['go'] }, { waitFor: { event: 'for-{{ me }}', timeout: 1 } }];
    assert.equal((await bench.play(flow, { me: 'ann' })).error, null);
  });

  it('tells silence from the wrong events', async () => {
    const step = { waitFor: { event: 'tick', match: { json: '$.n', value: 2 }, timeout: 0.01 } };
    for (const [events, code] of [
      [[], 'wait_timeout'],
      [[{ n: 1 }], 'failed_match'],
    ] as const) {
      const bench = new Bench();
      bench.fleet.onOpen = (connection, namespace) => {
        for (const one of events) connection.deliver(namespace, 'tick', one);
      };
      assert.equal((await bench.play([step])).error?.code, code);
    }
  });
});

it('a variable names rooms from the step on that sets it', async () => {
  const set = (context: { vars: Record<string, unknown> }, _: unknown, done: () => void) => {
    context.vars.docs = ['a', 7, null];
    done();
  };
  const bench = new Bench({}, { set });
  bench.engine.config.roomsVariable = 'docs';
  await bench.play([{ connect: true }, { think: 0 }, { function: 'set' }, { emit: ['x'] }]);
  assert.deepEqual(bench.fleet.only.rooms, [
    ['a', '7'],
    ['a', '7'],
  ]);
});
