import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertEach } from '../../helpers/columns.ts';
import { Bench } from '../../helpers/virtual-user.ts';

/** Target with a path. Namespaces are prefixed with it, as in socket.io-client. */
const TENANT = 'http://127.0.0.1:1/tenant';

/** @returns the namespaces in the order in which they opened */
function opened(bench: Bench): string[] {
  const namespaces: string[] = [];
  bench.fleet.onOpen = (_, namespace) => namespaces.push(namespace);
  return namespaces;
}

describe('connect', () => {
  it('a connect step templates its options for each virtual user', async () => {
    const bench = new Bench({ extraHeaders: { a: '1' }, query: { v: 4 } });
    const connect = { auth: { token: '{{ token }}' }, query: { u: '{{ n }}' }, headers: { b: '2' } };
    await bench.passes([{ connect }], { token: 'secret', n: 7 });
    assert.deepEqual(bench.fleet.only.overrides, [
      { auth: { token: 'secret' }, query: { v: '4', u: 7 }, headers: { a: '1', b: '2' } },
    ]);
    const whole = { auth: '{{ user }}', query: '{{ user }}', extraHeaders: '{{ user }}' };
    await bench.passes([{ connect: whole }], { user: { id: 'ada' } });
    assert.deepEqual(bench.fleet.connections[1]?.overrides, [
      { auth: { id: 'ada' }, query: { v: '4', id: 'ada' }, headers: { a: '1', id: 'ada' } },
    ]);
  });

  it('a connect step opens its namespace on a separate connection', async () => {
    const bench = new Bench();
    const namespaces = opened(bench);
    await bench.passes([{ connect: true }, { connect: '/chat' }, { connect: { namespace: 'chat' } }]);
    assert.deepEqual(namespaces, ['/', '/chat', '/chat']);
    assertEach(bench.fleet.connections, ({ overrides }) => overrides.length, [1, 1, 1]);
    assert.equal(bench.counters['socketio.connects'], 3);
    assert.equal(bench.histograms['socketio.connect_time']?.length, 3);
  });

  it('a connect step puts the path of the target before the namespaces', async () => {
    const bench = new Bench({}, {}, TENANT);
    const namespaces = opened(bench);
    await bench.passes([{ emit: ['a'] }, { emit: ['a'], namespace: '/chat' }, { emit: ['a'], namespace: '/' }]);
    assert.deepEqual(namespaces, ['/tenant', '/tenant/chat']);
  });
});

describe('every', () => {
  const spec = { seconds: 10, emit: { channel: 'batch', data: { n: 1 } } };

  it('an `every` step starts to send on its connection, and ends immediately', async () => {
    const bench = new Bench({}, {}, TENANT);
    await bench.passes([{ every: { ...spec, acknowledge: true }, namespace: 'chat' }]);
    const { overrides, repeated, sent } = bench.fleet.only;
    const message = { namespace: '/tenant/chat', event: 'batch', args: [{ n: 1 }] };
    assert.deepEqual(repeated, [{ ...message, periodUs: 10_000_000, count: 1, acknowledge: true }]);
    assert.deepEqual([overrides.length, sent], [1, []]);
  });

  it('an `every` step puts as many copies of its data in a message as it has events', async () => {
    const bench = new Bench();
    await bench.passes([{ every: { ...spec, emit: ['batch', 'e'], events: 3, count: 2 } }]);
    const [message] = bench.fleet.only.repeated;
    assert.deepEqual([message?.args, message?.count, message?.acknowledge], [[['e', 'e', 'e']], 2, false]);
  });
});

describe('emit', () => {
  it('an emit step opens its connection, and sends a list, or channel and data', async () => {
    const bench = new Bench();
    const flow = [
      { emit: ['join', '{{ room }}', { n: '{{ n }}' }, 3] },
      { emit: { channel: 'say', data: { text: '{{ room }}' } } },
      { emit: ['x'], namespace: 'chat' },
    ];
    await bench.passes(flow, { room: 'lobby', n: 5 });
    assert.deepEqual(bench.fleet.only.sent, [
      ['/', 'join', 'lobby', { n: 5 }, 3],
      ['/', 'say', { text: 'lobby' }],
      ['/chat', 'x'],
    ]);
    assert.deepEqual([bench.counters['socketio.emit'], bench.counters['socketio.connects']], [3, 2]);
  });

  it('an emit step checks and captures values of its acknowledgement', async () => {
    const bench = new Bench();
    bench.fleet.onAck = (event) => (event === 'one' ? [{ room: 'r1', count: 0 }] : ['ok', { id: 9 }]);
    const { room, zero, id } = await bench.passes([
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
    assert.deepEqual([room, zero, id], ['r1', 0, 9]);
    assert.equal(bench.histograms['socketio.ack_time']?.length, 6);
  });

  for (const [acknowledge, code] of [
    [{ match: { json: '$.room', value: 'other' } }, 'failed_match'],
    [{ args: { room: 'other' } }, 'data_not_valid'],
    [{ capture: { json: '$.missing', as: 'x' } }, 'failed_capture'],
  ] as const) {
    it(`an emit step fails the flow with the error of the acknowledgement: ${code}`, async () => {
      const bench = new Bench();
      bench.fleet.onAck = () => [{ room: 'r1' }];
      assert.equal(await bench.codeOf({ emit: ['one'], acknowledge }, { emit: ['never'] }), code);
      assert.equal(bench.fleet.sent.length, 1);
    });
  }

  it('an emit step listens for the response before it sends, and no longer than necessary', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection, namespace) => connection.deliver(namespace, 'answer', { id: 1 });
    const response = { on: 'answer', capture: { json: '$.id', as: 'id' } };
    assert.equal((await bench.passes([{ emit: ['ask'], response }])).id, 1);
    assert.equal(bench.histograms['socketio.response_time']?.length, 1);
    assert.equal(bench.fleet.only.listenerCount, 0);
  });

  it('an emit step waits for acknowledgement and response together', async () => {
    const bench = new Bench();
    const step = { emit: ['ask'], acknowledge: true, response: { channel: 'answer' }, timeout: 0.01 };
    assert.equal(await bench.codeOf(step), 'ack_timeout');
    assert.equal(bench.fleet.only.listenerCount, 0);
  });
});

describe('waitFor', () => {
  it('a waitFor step skips events that do not match', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection, namespace) => {
      for (const n of [1, 2, 3]) connection.deliver(namespace, 'tick', { n });
    };
    const { n } = await bench.passes([
      { emit: ['go'] },
      { waitFor: { event: 'tick', match: { json: '$.n', value: 2 } } },
      { waitFor: { event: 'tick', capture: { json: '$.n', as: 'n' } } },
    ]);
    assert.equal(n, 3);
  });

  it('a waitFor step waits for an event whose name contains a variable of the virtual user', async () => {
    const bench = new Bench();
    bench.fleet.onEmit = (connection) => setImmediate(() => connection.deliver('/', 'for-ann'));
    await bench.passes([{ emit: ['go'] }, { waitFor: { event: 'for-{{ me }}', timeout: 1 } }], { me: 'ann' });
  });

  for (const [code, ...events] of [['wait_timeout'], ['failed_match', { n: 1 }]] as const) {
    it(`a waitFor step distinguishes missing events from wrong ones: ${code}`, async () => {
      const bench = new Bench();
      bench.fleet.onOpen = (connection, namespace) => {
        for (const one of events) connection.deliver(namespace, 'tick', one);
      };
      const waitFor = { event: 'tick', match: { json: '$.n', value: 2 }, timeout: 0.01 };
      assert.equal(await bench.codeOf({ waitFor }), code);
    });
  }
});

it('the rooms of a user come from the configured variable, also if a function of the flow sets it', async () => {
  const set = (context: { vars: Record<string, unknown> }, _: unknown, done: () => void) => {
    context.vars.docs = ['a', 7, null];
    done();
  };
  const bench = new Bench({}, { set });
  bench.engine.config.roomsVariable = 'docs';
  await bench.passes([{ connect: true }, { think: 0 }, { function: 'set' }, { emit: ['x'] }]);
  assert.deepEqual(bench.fleet.only.rooms, [['a', '7']]);
});
