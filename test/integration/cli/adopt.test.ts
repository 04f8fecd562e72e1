/** `adopt` turns scenarios of other engines into ones that are measured, and says what it changed. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { readScenario, settingsOf } from '../../../plugin/cli/scenario-argument.ts';
import { cli } from '../../helpers/cli.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const V3 = { target: 'http://127.0.0.1:1', engines: { 'socketio-v3': {} }, phases: [{ duration: 5, arrivalRate: 2 }] };

/** @param scenario text, or parts of a scenario of `artillery-engine-socketio-v3` @returns what was printed and written */
async function adopt(t: TestContext, scenario: string | object, ...args: string[]) {
  const cwd = tempFolder(t);
  const text = typeof scenario === 'string' ? scenario : JSON.stringify(scenario);
  writeFileSync(join(cwd, 'chat.yml'), text);
  const answer = await cli(cwd, 'adopt', 'chat.yml', ...args);
  assert.equal(readFileSync(join(cwd, 'chat.yml'), 'utf8'), text, 'the scenario itself stays');
  const path = join(cwd, 'chat.capacity.yml');
  const written = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return { ...answer, path, written, script: parse(written) ?? {} };
}

/** Asserts that a run accepts the written scenario. */
async function accepted(...args: Parameters<typeof adopt>) {
  const answer = await adopt(...args);
  assert.equal(answer.code, 0, answer.said);
  return { ...answer, settings: settingsOf(await readScenario(answer.path, undefined)) };
}

/** @param flow steps, without what `adopt` adds at the end */
async function adoptFlow(t: TestContext, flow: unknown[], { config = {}, ...scenario }: Record<string, object> = {}) {
  const scenarios = [{ engine: 'socketio-v3', flow, ...scenario }];
  const answer = await accepted(t, { config: { ...V3, ...config }, scenarios }, '--leave');
  return { ...answer, flow: answer.script.scenarios[0].flow as object[] };
}

it('keeps comments, order and style, and changes what a run needs', async (t) => {
  const { written, said, settings } = await accepted(
    t,
    `# Our chat
config:
  target: 'http://localhost:4000' # staging
  phases:
  - duration: 10
    arrivalRate: 20   # a second
  engines:
    socketio-v3: {}

scenarios:
- name: "Chat"
  engine: socketio-v3
  flow:
  # a room for all
  - emit:
      channel: "join"
      data: {room: "r{{ $randomInt(1, 9) }}"}
  - wait: 2 # let it settle
  - emit: ["say", "hello"]
  - think: 30
`,
  );
  assert.equal(
    written,
    `# Our chat
config:
  target: 'http://localhost:4000' # staging
  phases:
  - duration: 10
    arrivalRate: 20   # a second
  - pause: 4
  engines:
    socketio-capacity:
      transports: [ polling, websocket ]
  plugins:
    socketio-capacity: {}

scenarios:
- name: "Chat"
  engine: socketio-capacity
  flow:
  # a room for all
  - emit:
      channel: "join"
      data: { room: "r{{ $randomNumber(1, 9) }}" }
  - think: 2 # let it settle
  - emit: ["say", "hello"]
  - hold: true
`,
  );
  assert.match(said, /line {2}12 {2}engine: "socketio-v3" → engine: "socketio-capacity"/);
  assert.match(said, /line {2}18 {2}wait: 2 → think: 2: nothing reads wait/);
  assert.match(said, /line {2}20 {2}think: 30: the users stay instead/);
  assert.deepEqual([settings.usersLeave, settings.load.connections], [false, 200]);
});

it('lets users stay by default, unless that is many times the load, or the user chooses', async (t) => {
  const scenario = (duration: number, flow: object[]) => ({
    config: { ...V3, phases: [{ duration, arrivalRate: 20 }] },
    scenarios: [{ engine: 'socketio-v3', flow }],
  });
  const flow = [{ emit: ['join'] }, { think: 5 }];
  const leaves = async (...args: [object, ...string[]]) => (await accepted(t, ...args)).settings.usersLeave;
  assert.equal(await leaves(scenario(10, flow)), false);
  assert.equal(await leaves(scenario(10, flow), '--leave'), true);
  assert.equal(await leaves(scenario(3600, flow)), true);
  assert.equal(await leaves(scenario(3600, flow), '--hold'), false);
  assert.equal(await leaves(scenario(3600, [{ emit: ['join'] }, { think: 3600 }])), false, 'they stayed before');
});

/** Steps of other engines, and the steps that they become. */
const REWRITTEN: [step: object, becomes: object][] = [
  [{ on: 'price' }, { waitFor: { event: 'price' } }],
  [{ on: { event: 'price' } }, { waitFor: { event: 'price' } }],
  [{ listen: { channel: 'price', timeout: 5000 } }, { waitFor: { event: 'price', timeout: '5000ms' } }],
  [{ sleep: '500ms' }, { think: '500ms' }],
  [{ pause: { seconds: 3 } }, { think: 3 }],
  [{ delay: 1500 }, { think: '1500ms' }],
  [{ socketio: { connect: { auth: { user: 'ann' } } } }, { connect: { auth: { user: 'ann' } } }],
  [{ namespace: '/chat' }, { connect: '/chat' }],
  [{ join: { event: 'enter', data: 'r1' } }, { emit: ['enter', 'r1'] }],
  [{ send: ['say', 'hi', 2] }, { emit: ['say', 'hi', 2] }],
  [{ close: true }, { disconnect: true }],
  [{ repeat: { times: 3, steps: [{ wait: 1 }] } }, { loop: [{ think: 1 }], count: 3 }],
  [
    { loop: [{ wait: 1 }], count: 2 },
    { loop: [{ think: 1 }], count: 2 },
  ],
  [{ connect: { url: 'http://x' } }, { connect: {} }],
  [{ connect: { token: 'x' } }, { connect: { auth: { token: 'x' } } }],
  [{ emit: { event: 'typing', data: 1 } }, { emit: { channel: 'typing', data: 1 } }],
  [{ emit: { channel: 'a', args: 1 } }, { emit: { channel: 'a', data: 1 } }],
  [
    { emit: { channel: 'a', data: 1, namespace: '/n', response: { channel: 'b' } } },
    { emit: { channel: 'a', data: 1 }, namespace: '/n', response: { channel: 'b' } },
  ],
  [{ emit: { channel: 'a', acknowledge: true } }, { emit: { channel: 'a' }, acknowledge: true }],
  [
    { emit: ['a'], ack: true },
    { emit: ['a'], acknowledge: true },
  ],
  [{ emit: ['a'], data: { b: 1 } }, { emit: ['a', { b: 1 }] }],
  [
    { emit: ['a'], acknowledge: true, capture: { json: '$.0.id', as: 'id' } },
    { emit: ['a'], acknowledge: { capture: { json: '$.0.id', as: 'id' } } },
  ],
  [{ every: { interval: 1, emit: ['a'] } }, { every: { seconds: 1, emit: ['a'] } }],
  [{ waitFor: { on: 'a' } }, { waitFor: { event: 'a' } }],
  [
    { loop: [{ think: 1 }], over: '{{ list }}' },
    { loop: [{ think: 1 }], over: 'list' },
  ],
  [{ emit: ['a', '{{ $guid }}-{{ $random }}'] }, { emit: ['a', '{{ $uuid }}-{{ $randomNumber(1, 1000) }}'] }],
];

it('writes the lines that a refusal proposes', async (t) => {
  for (const [step, becomes] of REWRITTEN) {
    const { flow, said } = await adoptFlow(t, [{ think: 1 }, step], { config: { variables: { list: [['a']] } } });
    assert.deepEqual(flow[1], becomes, said);
  }
});

it('moves options to where they are read', async (t) => {
  const config = {
    socketio: { reconnectionAttempts: 3, reconnectionDelay: 500, timeout: 20_000, forceNew: true, upgrade: false },
    'socketio-v3': { query: { a: '1' }, rejectUnauthorized: false },
    headers: { 'x-id': '1' },
  };
  const scenario = { query: { b: '2' }, steps: [{ think: 1 }] } as never;
  const { script } = await adoptFlow(t, undefined as never, { config, ...(scenario as object) });
  assert.deepEqual(script.config.socketio, {
    reconnection: { attempts: 3, delay: '500ms' },
    transports: ['polling'],
  });
  assert.deepEqual(script.config.engines['socketio-capacity'], {
    query: { a: '1' },
    connectTimeout: '20000ms',
    tls: { rejectUnauthorized: false },
    headers: { 'x-id': '1' },
  });
  assert.deepEqual([script.scenarios[0].socketio, script.scenarios[0].flow], [{ query: { b: '2' } }, [{ think: 1 }]]);
});

it('gives each user the options that its own values fill, and pauses in place of phases without arrivals', async (t) => {
  const config = {
    engines: { 'socketio-v3': { auth: { token: '{{ token }}' }, query: { host: '{{ $env.HOME }}' } } },
    phases: [
      { duration: 5, arrivalRate: 0.5 },
      { duration: 3, arrivalRate: 0 },
    ],
    variables: { token: ['a', 'b'] },
  };
  const { script } = await adoptFlow(t, [{ think: 1 }], { config });
  assert.deepEqual(script.scenarios[0].socketio, { auth: { token: '{{ token }}' } });
  assert.deepEqual(script.config.engines['socketio-capacity'].query, { host: '{{ $env.HOME }}' });
  assert.deepEqual(script.config.phases, [{ duration: 5, arrivalRate: 0.5, rampTo: 0.5 }, { pause: 3 }]);
});

it('quotes templates, and connects where a scenario has no flow', async (t) => {
  const { said, script } = await accepted(
    t,
    `config:
  target: http://127.0.0.1:1
  phases: [{ duration: 5, arrivalRate: 2 }]
scenarios:
  - { name: only connects, engine: socketio }
  - engine: socketio
    flow:
      - emit: [join, { name: {{ $uuid }}, room: 8 }]
`,
  );
  assert.deepEqual(script.scenarios[0].flow, [{ connect: true }, { hold: true }]);
  assert.deepEqual(script.scenarios[1].flow[0], { emit: ['join', { name: '{{ $uuid }}', room: 8 }] });
  assert.match(said, /line {3}8 .*without quotes, YAML takes a template for a map/);
});

it('does not let users stay behind a loop that never ends', async (t) => {
  const scenarios = [{ engine: 'socketio-v3', flow: [{ loop: [{ emit: ['move'] }, { think: 1 }] }] }];
  const { said, script } = await adopt(t, { config: V3, scenarios }, '--hold');
  assert.match(said, /its last step never ends: write a `count`/);
  assert.deepEqual(script.scenarios[0].flow, scenarios[0]?.flow);
});

it('leaves out what only the user can decide, as a comment, and keeps what it did', async (t) => {
  process.env.CHAT_URL = 'http://127.0.0.1:1';
  t.after(() => delete process.env.CHAT_URL);
  const { written, said, settings } = await accepted(
    t,
    `config:
  target: "{{ $env.CHAT_URL }}"
  processor: ./own.cjs
  phases: [{duration: 5, arrivalRate: 2}]
scenarios:
  - engine: socketio
    flow:
      - emit: [answer, "{{ questionId }}", "{{ $timestamp }}"]
        ifTrue: isOpen
      - if: {equals: 1}
      - subscribe: news
      - emit: [disconnect]
      - think: 1
`,
  );
  for (const line of [
    /# To decide: nothing sets questionId, .*\n {4}questionId: \[ "" \]/,
    /# To decide: left out ifTrue: "isOpen": .*only HTTP/,
    /# To decide: left out \{"if":\{"equals":1\}\}: .*no step has conditions/,
    /# To decide: left out \{"subscribe":"news"\}: .*write emit: \["news", <data>\]/,
    /# To decide: left out \{"emit":\["disconnect"\]\}: .*disconnect: true/,
  ]) {
    assert.match(written, line);
  }
  assert.match(said, /line {3}8 {2}nothing sets questionId/);
  assert.match(said, /Each run reads CHAT_URL from the environment/);
  assert.equal(settings.load.stays, true);
});

it('warns of functions that need another engine', async (t) => {
  const cwd = tempFolder(t);
  writeFileSync(join(cwd, 'own.cjs'), 'exports.f = (context, e, done) => { context.sockets[""].on("a", done); };');
  const scenarios = [{ engine: 'socketio-v3', flow: [{ function: 'f' }, { think: 1 }] }];
  writeFileSync(join(cwd, 'chat.yml'), JSON.stringify({ config: { ...V3, processor: './own.cjs' }, scenarios }));
  const { code, said } = await cli(cwd, 'adopt', 'chat.yml');
  assert.deepEqual([code, /context\.sockets.* waitFor/.test(said)], [0, true], said);
});

it('writes a file that a run refuses with what is to be decided, and exit code 2', async (t) => {
  const { code, said, written } = await adopt(t, {
    config: {},
    scenarios: [{ engine: 'socketio', flow: [{ think: 1 }] }],
  });
  assert.equal(code, 2, said);
  assert.match(said, /A run refuses it until this is decided:[\s\S]*\n {2}config\.target: expected a URL/);
  assert.match(written, /"engine": "socketio-capacity"/);
});

it('never overwrites, and refuses what is no such scenario', async (t) => {
  const scenario = { config: V3, scenarios: [{ engine: 'socketio-v3', flow: [{ think: 1 }] }] };
  for (const [text, args, why] of [
    [scenario, ['--out', 'chat.yml'], /the scenario itself is never overwritten/],
    [scenario, ['--out', '/tmp/other.yml'], /a file in the folder of the scenario/],
    [scenario, ['--hold', '--leave'], /exclude each other/],
    [{ config: V3, scenarios: [{ engine: 'ws', flow: [] }] }, [], /no scenario has the engine socketio or socketio-v3/],
    ['a: [1', [], /cannot be read/],
    ['- 1', [], /cannot be read/],
    ['a: &a [1]\nb: *c', [], /cannot be read/],
    [`config: {}\nscenarios: ${'['.repeat(5000)}`, [], /cannot be read|CONFIG_INVALID/],
  ] as const) {
    const { code, stderr, written } = await adopt(t, text, ...args);
    assert.deepEqual([code, written, why.test(stderr)], [2, '', true], stderr);
  }
  const cwd = tempFolder(t);
  writeFileSync(join(cwd, 'chat.yml'), JSON.stringify(scenario));
  writeFileSync(join(cwd, 'chat.capacity.yml'), 'mine');
  const { code, stderr } = await cli(cwd, 'adopt', 'chat.yml');
  assert.deepEqual([code, readFileSync(join(cwd, 'chat.capacity.yml'), 'utf8')], [2, 'mine'], stderr);
});

it('writes the options that stood in `config.socketio-v3`, beside an engine without options', async (t) => {
  const config = { ...V3, 'socketio-v3': { path: '/realtime/', transports: ['websocket'] } };
  const { script } = await accepted(t, { config, scenarios: [{ engine: 'socketio-v3', flow: [{ think: 3 }] }] });
  assert.deepEqual(script.config.engines, {
    'socketio-capacity': { path: '/realtime/', transports: ['websocket'] },
  });
  assert.equal('socketio-v3' in script.config, false);
});
