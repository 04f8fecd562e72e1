/** Tests each row of the table in docs/guide/writing-scenarios.md on differences from other engines. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readScenarios } from '../../../plugin/script/scenarios.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import type { UserContext } from '../../../plugin/virtual-user/user-types.ts';
import { Bench } from '../../helpers/virtual-user.ts';

/** Returns a server that replies to `ask` with these events. */
function asking(...events: unknown[][]) {
  const bench = new Bench({ timeout: 0.05 });
  bench.fleet.onEmit = (connection, namespace, event) => {
    if (event === 'ask') for (const args of events) connection.deliver(namespace, 'answer', ...args);
  };
  return bench;
}

/** @param hint text in the message of the refusal */
function refusal(step: unknown, hint: string): Promise<void> {
  return assert.rejects(
    async () => new Bench({}, { look, take }).play([step]),
    ({ message }: Error) => message.includes(JSON.stringify(hint).slice(1, -1)),
  );
}

const look = (context: UserContext) => Object.keys(context.sockets as object);
const take = ({ vars, sockets }: UserContext) => Object.assign(vars, sockets);
const namespace = '/chat?a=1';
const CONDITION = 'only HTTP requests have conditions';
const QUERY = 'write connect: {namespace: /chat, query: "…"}';

/** Refused steps, by row of the table. */
const REFUSED: [row: string, hint: string, ...steps: object[]][] = [
  ['response inside emit', 'beside `emit`', { emit: { channel: 'ask', response: { channel: 'answer' } } }],
  ['capture or match beside emit', 'write it in `response`', { emit: ['a'], capture: { json: '$', as: 'b' } }],
  ['parallel', 'only HTTP requests', { parallel: [{ get: { url: '/' } }, { emit: ['a'] }] }],
  ['context.sockets', 'receive events with `on` or `waitFor`', { function: 'look' }, { function: 'take' }],
  ['a condition or a name of a step', CONDITION, { emit: ['a'], ifTrue: 'x' }, { loop: [{ think: 1 }], ifTrue: 'x' }],
  ['a condition or a name of a step', 'remove it', { think: 1, name: 'rest' }, { emit: ['a'], probability: 20 }],
  ['a loop over a template', 'over: list', { loop: [{ think: 1 }], over: '{{ list }}' }],
  ['an event named disconnect', 'disconnect: true', { emit: ['disconnect'] }, { emit: { channel: 'disconnect' } }],
  ['an event named disconnect', 'reserves the name connect', { emit: ['connect'] }],
  ['a namespace with a query', QUERY, { connect: namespace }, { connect: { namespace } }],
  ['a namespace with a query', QUERY, { emit: ['a'], namespace }, { waitFor: { event: 'a', namespace } }],
  ['unknown steps', 'unknown step "fetch"', { fetch: { url: '/' } }],
];
for (const [row, hint, ...steps] of REFUSED) {
  test(`refuses a scenario of another engine with ${row}`, async () => {
    for (const step of steps) await refusal(step, hint);
  });
}

const respond = (response: object) => ({ emit: ['ask'], response: { on: 'answer', ...response } });

test('transports', () => {
  assert.deepEqual(new Bench().engine.config.connection.transports, ['websocket']);
});

test('the first connection', async () => {
  const bench = new Bench();
  await bench.passes([{ think: 0 }, { log: 'not yet' }]);
  assert.equal(bench.fleet.connections.length, 0);
  await bench.passes([{ emit: ['a'], namespace: '/chat' }]);
  assert.deepEqual(bench.fleet.only.sent, [['/chat', 'a']]);
});

test('an acknowledgement that never comes', async () => {
  assert.equal(await asking().codeOf({ emit: ['ask'], acknowledge: true }), 'ack_timeout');
});

test('a response after its timeout', async () => {
  const bench = asking();
  const outcome = await bench.play([respond({}), { emit: ['never'] }]);
  bench.fleet.only.deliver('/', 'answer', 'late');
  assert.deepEqual([outcome.error?.code, outcome.callbacks], ['response_timeout', 1]);
  assert.equal(bench.fleet.only.listenerCount, 0);
});

test('a response without data', async () => {
  const bench = asking(['first'], ['second']);
  assert.equal(await bench.codeOf(respond({ match: { value: 'second' } })), 'failed_match');
  await bench.passes([respond({ match: { value: 'first' } })]);
});

test('a text in data', async () => {
  const bench = asking(['good'], ['a good answer']);
  await bench.passes([respond({ data: 'good answer' }), respond({ args: 'good answer' })]);
  assert.equal(await bench.codeOf(respond({ data: 'bad' })), 'data_not_valid');
});

test('$.0 of a single argument', async () => {
  const match = (json: string) => respond({ match: { json, value: 1 } });
  await asking([{ n: 1 }]).passes([match('$.0.n'), match('$[0].n'), match('$.n')]);
  await asking([[1, 2]]).passes([match('$.0')]);
  await asking(['x', 1]).passes([match('$.1')]);
});

test('a capture that finds nothing', async () => {
  const capture = (strict?: boolean) => respond({ capture: { json: '$.token', as: 'token', strict } });
  assert.equal(await asking([{}]).codeOf(capture()), 'failed_capture');
  await asking([{}]).passes([capture(false)]);
});

test('loop', async () => {
  const bench = new Bench();
  await bench.passes([{ loop: [{ connect: '/chat' }, { think: 0 }, { emit: ['a'], namespace: '/chat' }], count: 2 }]);
  assert.equal(bench.fleet.connections.length, 2);
});

test('count: 0 of a loop', async () => {
  const bench = new Bench();
  await bench.passes([{ emit: ['a'] }, { loop: [{ emit: ['b'] }], count: 0 }]);
  assert.deepEqual(bench.fleet.sent, [['/', 'a']]);
});

test('hooks (before, after)', () => {
  const { problems } = readScenarios({ config: {}, before: { engine: 'socketio-capacity', flow: [] } }, STEP_KINDS);
  assert.match(problems[0]?.message ?? '', /use engine: http/);
});

test('think of 0.5, of 5m', async (t) => {
  const delays: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (resolve: () => void, ms: number) => {
    delays.push(ms);
    resolve();
  });
  await new Bench().passes([{ think: 0.5 }, { think: '5m' }]);
  assert.deepEqual(delays, [500, 300_000]);
});

test('an async processor function', async () => {
  const later = async (context: UserContext) => {
    await new Promise(setImmediate);
    context.vars.done = true;
  };
  assert.equal((await new Bench({}, { later }).passes([{ function: 'later' }])).done, true);
});

test('beforeRequest of an emit', async () => {
  const sign = (_step: unknown, context: UserContext, _events: unknown, next: () => void) => {
    context.extraHeaders = { 'x-token': '{{ token }}' };
    next();
  };
  const bench = new Bench({ headers: { 'x-all': '1' } }, { sign });
  await bench.passes([{ emit: ['a'], beforeRequest: 'sign' }], { token: 't' });
  assert.deepEqual(bench.fleet.only.overrides, [{ headers: { 'x-all': '1', 'x-token': 't' } }]);
});

test('a dropped connection', async () => {
  const bench = new Bench();
  bench.fleet.onEmit = (connection) => connection.drop('transport close');
  assert.equal(await bench.codeOf({ emit: ['a'] }, { think: 0 }), 'disconnected_transport_close');
});

test('a number as an event', async () => {
  const bench = new Bench();
  await bench.passes([{ emit: [7, 'x'] }]);
  assert.deepEqual(bench.fleet.only.sent, [['/', '7', 'x']]);
});

/** @returns the options that socket.io-client declares in one of its files */
function declaredOptions(file: string, name: string): string[] {
  const text = readFileSync(new URL(`../../../node_modules/${file}`, import.meta.url), 'utf8');
  const [, body = ''] = text.split(`interface ${name} `);
  return [...body.slice(0, body.indexOf('\n}')).matchAll(/^ {4}(\w+)\??:/gm)].map(([, option]) => String(option));
}

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
    const isRefused = ({ message }: Error) => message.includes(hint);
    assert.throws(() => new Bench(options), isRefused, hint);
  }
  await refusal({ connect: { transports: 'websocket' } }, 'expected a list: [websocket]');
  await refusal({ connect: { forceNew: true } }, 'remove it');
  await refusal({ connect: { reconnection: true } }, 'write it in config.engines.socketio-capacity');
  await refusal({ connect: { rejectUnauthorized: false } }, 'write tls: {rejectUnauthorized: …}');
  const options = [
    ...declaredOptions('engine.io-client/build/esm/socket.d.ts', 'SocketOptions'),
    ...declaredOptions('socket.io-client/build/esm/manager.d.ts', 'ManagerOptions'),
    ...declaredOptions('socket.io-client/build/esm/socket.d.ts', 'SocketOptions'),
  ];
  assert.ok(options.length > 40);
  for (const option of options) {
    const uses = [
      async () => new Bench({ [option]: {} }),
      async () => new Bench().play([{ connect: { [option]: {} } }]),
    ];
    for (const use of uses) {
      const refusalText = await use().then(
        () => '',
        ({ message }: Error) => message,
      );
      assert.doesNotMatch(refusalText, /unknown option(?!: )/, option);
    }
  }
});

test('a timeout of 20000', async () => {
  assert.throws(() => new Bench({ timeout: 20_000 }), /write 20, or \\"20000ms\\"/);
  assert.throws(() => new Bench({ connectTimeout: 5000 }), /write 5, or/);
  await refusal({ connect: true, timeout: 2000 }, 'write 2, or');
  assert.equal(new Bench({ timeout: '20000ms' }).engine.config.timeoutMs, 20_000);
});

test('response times', async () => {
  const bench = asking(['x']);
  bench.fleet.onAck = () => [];
  await bench.passes([respond({}), { emit: ['x'], acknowledge: true }]);
  bench.engine.meter.flush();
  for (const name of ['socketio.response_time', 'socketio.ack_time']) assert.equal(bench.histograms[name]?.length, 1);
});
