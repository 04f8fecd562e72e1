/** A test for each row of the table in docs/guide/writing-scenarios.md: what is different from other engines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UserContext } from '../../../plugin/virtual-user/types.ts';
import { Bench } from '../../helpers/virtual-user.ts';

/** On a server that answers `ask` with these events. */
function asking(events: unknown[][], processor: Record<string, unknown> = {}, options: Record<string, unknown> = {}) {
  const bench = new Bench({ timeout: 0.05, ...options }, processor);
  bench.fleet.onEmit = (connection, namespace, event) => {
    if (event === 'ask') for (const args of events) connection.deliver(namespace, 'answer', ...args);
  };
  return bench;
}

async function codeOf(bench: Bench, ...flow: unknown[]): Promise<string | undefined> {
  return (await bench.play(flow)).error?.code;
}

/** @param hint that the step is refused with */
function refusal(step: unknown, hint: string, processor: Record<string, unknown> = {}): Promise<void> {
  return assert.rejects(
    async () => new Bench({}, processor).play([step]),
    ({ message }: Error) => message.includes(JSON.stringify(hint).slice(1, -1)),
  );
}

const respond = (response: object) => ({ emit: ['ask'], response: { on: 'answer', ...response } });

test('transports', () => {
  assert.deepEqual(new Bench().engine.config.connection.transports, ['websocket']);
});

test('the first connection', async () => {
  const bench = new Bench();
  await bench.play([{ think: 0 }, { log: 'not yet' }]);
  assert.equal(bench.fleet.connections.length, 0);
  await bench.play([{ emit: ['a'], namespace: '/chat' }]);
  assert.deepEqual(bench.fleet.only.sent, [['/chat', 'a']]);
});

test('an acknowledgement that never comes', async () => {
  assert.equal(await codeOf(asking([]), { emit: ['ask'], acknowledge: true }), 'ack_timeout');
});

test('a response after its timeout', async () => {
  const bench = asking([]);
  const outcome = await bench.play([respond({}), { emit: ['never'] }]);
  bench.fleet.only.deliver('/', 'answer', 'late');
  assert.deepEqual([outcome.error?.code, outcome.callbacks], ['response_timeout', 1]);
});

test('a response without data', async () => {
  const bench = asking([['first'], ['second']]);
  assert.equal(await codeOf(bench, respond({ match: { value: 'second' } })), 'failed_match');
  assert.equal(await codeOf(bench, respond({ match: { value: 'first' } })), undefined);
});

test('a text in data', async () => {
  const bench = asking([['good'], ['a good answer']]);
  assert.equal(await codeOf(bench, respond({ data: 'good answer' })), undefined);
  assert.equal(await codeOf(bench, respond({ data: 'bad' })), 'data_not_valid');
  assert.equal(await codeOf(bench, respond({ args: 'good answer' })), undefined);
});

test('$.0 of a single argument', async () => {
  const match = (json: string) => respond({ match: { json, value: 1 } });
  assert.equal(await codeOf(asking([[{ n: 1 }]]), match('$.0.n'), match('$[0].n'), match('$.n')), undefined);
  assert.equal(await codeOf(asking([[[1, 2]]]), match('$.0')), undefined);
  assert.equal(await codeOf(asking([['x', 1]]), match('$.1')), undefined);
});

test('a capture that finds nothing', async () => {
  const capture = (strict?: boolean) => respond({ capture: { json: '$.token', as: 'token', strict } });
  assert.equal(await codeOf(asking([[{}]]), capture()), 'failed_capture');
  assert.equal(await codeOf(asking([[{}]]), capture(false)), undefined);
});

test('response inside emit', async () => {
  await refusal({ emit: { channel: 'ask', response: { channel: 'answer' } } }, 'beside `emit`');
});

test('loop', async () => {
  const bench = new Bench();
  await bench.play([{ loop: [{ connect: '/chat' }, { think: 0 }, { emit: ['a'], namespace: '/chat' }], count: 2 }]);
  assert.equal(bench.fleet.connections.length, 2);
});

test('parallel', async () => {
  await refusal({ parallel: [{ get: { url: '/' } }, { emit: ['a'] }] }, 'only HTTP requests');
});

test('think of 0.5, of 5m', async (t) => {
  const delays: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (resolve: () => void, ms: number) => {
    delays.push(ms);
    resolve();
  });
  await new Bench().play([{ think: 0.5 }, { think: '5m' }]);
  assert.deepEqual(delays, [500, 300_000]);
});

test('an async processor function', async () => {
  const later = async (context: UserContext) => {
    await new Promise(setImmediate);
    context.vars.done = true;
  };
  assert.equal((await new Bench({}, { later }).play([{ function: 'later' }])).vars.done, true);
});

test('beforeRequest of an emit', async () => {
  const sign = (_step: unknown, context: UserContext, _events: unknown, next: () => void) => {
    context.extraHeaders = { 'x-token': '{{ token }}' };
    next();
  };
  const bench = new Bench({ headers: { 'x-all': '1' } }, { sign });
  await bench.play([{ emit: ['a'], beforeRequest: 'sign' }], { token: 't' });
  assert.deepEqual(bench.fleet.only.overrides, [{ headers: { 'x-all': '1', 'x-token': 't' } }]);
});

test('context.sockets', async () => {
  const look = (context: UserContext) => Object.keys(context.sockets as object);
  await refusal({ function: 'look' }, 'receive events with `waitFor`', { look });
});

test('a dropped connection', async () => {
  const bench = new Bench();
  bench.fleet.onEmit = (connection) => connection.drop('transport close');
  assert.equal(await codeOf(bench, { emit: ['a'] }, { think: 0 }), 'disconnected_transport_close');
  assert.equal(bench.counters['socketio.disconnect.transport_close'], 1);
});

test('a condition or a name of a step', async () => {
  await refusal({ emit: ['a'], ifTrue: 'x > 1' }, 'only HTTP requests have conditions');
  await refusal({ loop: [{ think: 1 }], ifTrue: 'x > 1' }, 'only HTTP requests have conditions');
  await refusal({ think: 1, name: 'rest' }, 'remove it');
});

test('a number as an event', async () => {
  const bench = new Bench();
  await bench.play([{ emit: [7, 'x'] }]);
  assert.deepEqual(bench.fleet.only.sent, [['/', '7', 'x']]);
});

test('other options of socket.io-client', async () => {
  for (const [options, hint] of [
    [{ reconnectionAttempts: 3 }, 'write reconnection: {attempts: …}'],
    [{ ackTimeout: 3 }, 'write timeout'],
    [{ perMessageDeflate: true }, 'write compression: true'],
    [{ upgrade: false }, 'write transports'],
    [{ withCredentials: true }, 'remove it'],
    [{ retries: 3 }, 'remove it'],
    [{ forceNew: true }, 'remove it'],
    [{ tls: { pfx: 'a' } }, 'write `cert` and `key`'],
  ] as const) {
    assert.throws(
      () => new Bench(options),
      ({ message }: Error) => message.includes(hint),
      hint,
    );
  }
  await refusal({ connect: { forceNew: true } }, 'remove it');
  await refusal({ connect: { reconnection: true } }, 'write it in config.engines.socketio-capacity');
  await refusal({ connect: { rejectUnauthorized: false } }, 'write tls: {rejectUnauthorized: …}');
});

test('a timeout of 20000', async () => {
  assert.throws(() => new Bench({ timeout: 20_000 }), /numbers are seconds: write 20, or \\"20000ms\\"/);
  assert.throws(() => new Bench({ connectTimeout: 5000 }), /write 5, or \\"5000ms\\"/);
  await assert.rejects(async () => new Bench().play([{ connect: true, timeout: 2000 }]), /write 2, or/);
  assert.equal(new Bench({ timeout: '20000ms' }).engine.config.timeoutMs, 20_000);
});

test('a namespace with a query', async () => {
  const hint = 'write connect: {namespace: /chat, query: "a=1"}';
  for (const step of [
    { connect: '/chat?a=1' },
    { connect: { namespace: '/chat?a=1' } },
    { emit: ['a'], namespace: '/chat?a=1' },
    { waitFor: { event: 'a', namespace: '/chat?a=1' } },
  ]) {
    await refusal(step, hint);
  }
});

test('unknown steps', async () => {
  await refusal({ fetch: { url: '/' } }, 'unknown step "fetch"');
});

test('response times', async () => {
  const bench = asking([['x']]);
  bench.fleet.onAck = () => [];
  await bench.play([respond({}), { emit: ['x'], acknowledge: true }]);
  bench.engine.meter.flush();
  assert.equal(bench.histograms['socketio.response_time']?.length, 1);
  assert.equal(bench.histograms['socketio.ack_time']?.length, 1);
});
