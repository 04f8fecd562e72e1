/**
 * Tests differences from other engines: what a run refuses, and each row of the table in
 * docs/guide/writing-scenarios.md.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
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

/** Refused steps of scenarios for other engines. */
const REFUSED: [what: string, hint: string, ...steps: object[]][] = [
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
for (const [what, hint, ...steps] of REFUSED) {
  test(`refuses a scenario of another engine with ${what}`, async () => {
    for (const step of steps) await refusal(step, hint);
  });
}

/** @param row name of the row in the documented table */
function difference(row: string, behaviour: string, run: (t: TestContext) => void | Promise<void>): void {
  test(`${behaviour} (difference: ${row})`, run);
}

const respond = (response: object) => ({ emit: ['ask'], response: { on: 'answer', ...response } });

difference('transports', 'the engine connects by WebSocket by default', () => {
  assert.deepEqual(new Bench().engine.config.connection.transports, ['websocket']);
});

difference('the first connection', 'the first step that needs a connection opens it', async () => {
  const bench = new Bench();
  await bench.passes([{ think: 0 }, { log: 'not yet' }]);
  assert.equal(bench.fleet.connections.length, 0);
  await bench.passes([{ emit: ['a'], namespace: '/chat' }]);
  assert.deepEqual(bench.fleet.only.sent, [['/chat', 'a']]);
});

difference(
  'an acknowledgement that never comes',
  'a missing acknowledgement fails the flow after the timeout',
  async () => {
    assert.equal(await asking().codeOf({ emit: ['ask'], acknowledge: true }), 'ack_timeout');
  },
);

difference('a response after its timeout', 'the engine ignores a response after its timeout', async () => {
  const bench = asking();
  const outcome = await bench.play([respond({}), { emit: ['never'] }]);
  bench.fleet.only.deliver('/', 'answer', 'late');
  assert.deepEqual([outcome.error?.code, outcome.callbacks], ['response_timeout', 1]);
  assert.equal(bench.fleet.only.listenerCount, 0);
});

difference('a response without data', 'the first response event decides if no data is expected', async () => {
  const bench = asking(['first'], ['second']);
  assert.equal(await bench.codeOf(respond({ match: { value: 'second' } })), 'failed_match');
  await bench.passes([respond({ match: { value: 'first' } })]);
});

difference('a text in data', 'an expected text matches a response that contains it', async () => {
  const bench = asking(['good'], ['a good answer']);
  await bench.passes([respond({ data: 'good answer' }), respond({ args: 'good answer' })]);
  assert.equal(await bench.codeOf(respond({ data: 'bad' })), 'data_not_valid');
});

difference('$.0 of a single argument', '$.0 is the single argument, unless it is a list', async () => {
  const match = (json: string) => respond({ match: { json, value: 1 } });
  await asking([{ n: 1 }]).passes([match('$.0.n'), match('$[0].n'), match('$.n')]);
  await asking([[1, 2]]).passes([match('$.0')]);
  await asking(['x', 1]).passes([match('$.1')]);
});

difference(
  'a capture that finds nothing',
  'a capture without a value fails the flow, unless it is not strict',
  async () => {
    const capture = (strict?: boolean) => respond({ capture: { json: '$.token', as: 'token', strict } });
    assert.equal(await asking([{}]).codeOf(capture()), 'failed_capture');
    await asking([{}]).passes([capture(false)]);
  },
);

difference('loop', 'a loop runs all kinds of steps', async () => {
  const bench = new Bench();
  await bench.passes([{ loop: [{ connect: '/chat' }, { think: 0 }, { emit: ['a'], namespace: '/chat' }], count: 2 }]);
  assert.equal(bench.fleet.connections.length, 2);
});

difference('count: 0 of a loop', 'a loop with count 0 runs no step', async () => {
  const bench = new Bench();
  await bench.passes([{ emit: ['a'] }, { loop: [{ emit: ['b'] }], count: 0 }]);
  assert.deepEqual(bench.fleet.sent, [['/', 'a']]);
});

test('a hook before or after the scenario must use the HTTP engine', () => {
  const { problems } = readScenarios({ config: {}, before: { engine: 'socketio-capacity', flow: [] } }, STEP_KINDS);
  assert.match(problems[0]?.message ?? '', /use engine: http/);
});

difference('think of 0.5, of 5m', 'a think step waits for fractions of a second, and for minutes', async (t) => {
  const delays: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (resolve: () => void, ms: number) => {
    delays.push(ms);
    resolve();
  });
  await new Bench().passes([{ think: 0.5 }, { think: '5m' }]);
  assert.deepEqual(delays, [500, 300_000]);
});

difference('an async processor function', 'a function step awaits an async function', async () => {
  const later = async (context: UserContext) => {
    await new Promise(setImmediate);
    context.vars.done = true;
  };
  assert.equal((await new Bench({}, { later }).passes([{ function: 'later' }])).done, true);
});

difference('beforeRequest of an emit', '`beforeRequest` sets headers before the connection opens', async () => {
  const sign = (_step: unknown, context: UserContext, _events: unknown, next: () => void) => {
    context.extraHeaders = { 'x-token': '{{ token }}' };
    next();
  };
  const bench = new Bench({ headers: { 'x-all': '1' } }, { sign });
  await bench.passes([{ emit: ['a'], beforeRequest: 'sign' }], { token: 't' });
  assert.deepEqual(bench.fleet.only.overrides, [{ headers: { 'x-all': '1', 'x-token': 't' } }]);
});

difference('a dropped connection', 'a dropped connection fails the flow', async () => {
  const bench = new Bench();
  bench.fleet.onEmit = (connection) => connection.drop('transport close');
  assert.equal(await bench.codeOf({ emit: ['a'] }, { think: 0 }), 'disconnected_transport_close');
});

difference('a number as an event', 'an emit step sends a number as the name of an event as text', async () => {
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

test('refuses options of socket.io-client, and suggests replacements', async () => {
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

test('refuses a timeout of 20000 seconds', async () => {
  assert.throws(() => new Bench({ timeout: 20_000 }), /write 20, or \\"20000ms\\"/);
  assert.throws(() => new Bench({ connectTimeout: 5000 }), /write 5, or/);
  await refusal({ connect: true, timeout: 2000 }, 'write 2, or');
  assert.equal(new Bench({ timeout: '20000ms' }).engine.config.timeoutMs, 20_000);
});

difference('response times', 'the engine records times of responses and acknowledgements', async () => {
  const bench = asking(['x']);
  bench.fleet.onAck = () => [];
  await bench.passes([respond({}), { emit: ['x'], acknowledge: true }]);
  bench.engine.meter.flush();
  for (const name of ['socketio.response_time', 'socketio.ack_time']) assert.equal(bench.histograms[name]?.length, 1);
});
