/** Steps that talk to the server: connect, emit, waitFor. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

describe('connect', () => {
  it('opens the main namespace by default, and the one it names', async () => {
    const bench = new Bench();
    await bench.play([{ connect: true }, { connect: '/chat' }, { connect: { namespace: 'news' } }]);
    assert.deepEqual(
      bench.fleet.connections.map(({ overrides }) => overrides.length),
      [1, 1, 1],
    );
    assert.equal(bench.counters['socketio.connects'], 3);
    assert.equal(bench.histograms['socketio.connect_time']?.length, 3);
  });

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

  it('replaces the connection that carried the namespace', async () => {
    const bench = new Bench();
    await bench.play([{ connect: '/a' }, { connect: '/a' }, { function: 'check' }].slice(0, 2));
    assert.deepEqual(
      bench.fleet.connections.map(({ closed }) => closed),
      [true, true],
    );
    assert.equal(bench.fleet.connections.length, 2);
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

  it('repeats a failed attempt when asked to, and counts it', async () => {
    const bench = new Bench({ retry: { attempts: 2, delay: 0.001 } });
    bench.fleet.failures.push('ECONNREFUSED', 'ECONNREFUSED');
    const outcome = await bench.play([{ connect: true }]);
    assert.equal(outcome.error, null);
    assert.equal(bench.engine.tally.retries, 2);
    assert.equal(bench.counters['socketio.retry'], 2);
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

  it('starts on every connection of a virtual user with many, with one message for all virtual users', async () => {
    const bench = new Bench();
    const flow = [{ connect: { count: 3, ratePerSec: 1000 } }, { every: spec }];
    await bench.play(flow);
    const sent = bench.fleet.connections.map(({ repeated }) => repeated[0]);
    assert.equal(sent.length, 3);
    assert.equal(new Set(sent).size, 1);
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

  for (const [acknowledge, code] of [
    [{ match: { json: '$.room', value: 'other' } }, 'failed_match'],
    [{ args: { room: 'other' } }, 'data_not_valid'],
    [{ capture: { json: '$.missing', as: 'x' } }, 'failed_capture'],
  ] as const) {
    it(`fails with ${code}`, async () => {
      const bench = new Bench();
      bench.fleet.onAck = () => [{ room: 'r1' }];
      const outcome = await bench.play([{ emit: ['one'], acknowledge }, { emit: ['never'] }]);
      assert.equal(outcome.error?.code, code);
      assert.equal(bench.fleet.sent.length, 1);
    });
  }

  it('leaves a missing capture alone when it is not strict', async () => {
    const bench = new Bench();
    bench.fleet.onAck = () => [{}];
    const capture = { json: '$.missing', as: 'x', strict: false };
    assert.equal((await bench.play([{ emit: ['one'], acknowledge: { capture } }])).error, null);
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

  it('takes the first of several answers, and calls back once', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection, namespace, event) => {
      if (event === 'ask') for (let n = 0; n < 3; n++) connection.deliver(namespace, 'answer', n);
    };
    const outcome = await bench.play([{ emit: ['ask'], response: { on: 'answer' } }, { emit: ['next'] }]);
    assert.deepEqual(bench.fleet.sent, [
      ['/', 'ask'],
      ['/', 'next'],
    ]);
    assert.deepEqual([outcome.started, outcome.callbacks], [1, 1]);
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
    const done = bench.play([{ connect: true }, { waitFor: { event: 'for-{{ me }}' } }], { me: 'ann' });
    while (!bench.fleet.connections[0]?.listenerCount) await new Promise((resolve) => setImmediate(resolve));
    bench.fleet.only.deliver('/', 'for-ann');
    assert.equal((await done).error, null);
  });

  it('tells silence from the wrong events', async () => {
    const silent = new Bench();
    const step = { waitFor: { event: 'tick', match: { json: '$.n', value: 2 }, timeout: 0.01 } };
    assert.equal((await silent.play([step])).error?.code, 'wait_timeout');
    const wrong = new Bench();
    wrong.fleet.onOpen = (connection, namespace) => connection.deliver(namespace, 'tick', { n: 1 });
    assert.equal((await wrong.play([step])).error?.code, 'failed_match');
  });

  it('keeps the newest of too many events and counts the others', async () => {
    const bench = new Bench();
    bench.fleet.onOpen = (connection, namespace) => {
      for (let n = 0; n < 20; n++) connection.deliver(namespace, 'tick', { n });
    };
    const outcome = await bench.play([
      { connect: true },
      { waitFor: { event: 'tick', capture: { json: '$.n', as: 'n' } } },
    ]);
    assert.equal(outcome.vars.n, 4);
    assert.equal(bench.counters['socketio.events_dropped'], 4);
  });
});
