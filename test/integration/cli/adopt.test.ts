/** Tests that `adopt` turns scenarios of other engines into measurable scenarios, and reports its changes. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { accepted, adopt, V3 } from '../../helpers/adopt.ts';
import { cli } from '../../helpers/cli.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

it('adopt keeps comments, order and style of a scenario, and changes what a run needs', async (t) => {
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

it('adopt keeps users connected by default, unless this multiplies the load or the user decides otherwise', async (t) => {
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

it('adopt turns frames of Socket.IO’s protocol into steps', async (t) => {
  const flow = [
    { connect: { url: 'ws://127.0.0.1:1/socket.io/?EIO=4&transport=websocket&room=a' } },
    { send: '40/chat,{"token":"x"}' },
    { send: '42/chat,["join",{"room":8}]' },
    { loop: [{ send: { payload: '421["say", {{ word }}]' } }, { send: 2 }, { think: 1 }], count: 2 },
    { send: 'hello' },
    { send: 41 },
  ];
  const config = { ...V3, target: 'ws://127.0.0.1:1/live?EIO=4&transport=websocket', variables: { word: ['a'] } };
  const { said, script } = await accepted(t, { config, scenarios: [{ engine: 'ws', flow }] }, '--leave');
  assert.deepEqual(script.scenarios[0].flow, [
    { connect: { query: { room: 'a' }, namespace: '/chat', auth: { token: 'x' } } },
    { emit: ['join', { room: 8 }], namespace: '/chat' },
    { loop: [{ emit: ['say', '{{ word }}'], acknowledge: true }, { think: 1 }], count: 2 },
    { disconnect: true },
  ]);
  const { target, engines } = script.config;
  assert.deepEqual([target, engines['socketio-capacity']], ['http://127.0.0.1:1', { path: '/live' }]);
  assert.match(said, /left out \{"send":"hello"\}/);
});

it('adopt does not keep users connected after an endless loop', async (t) => {
  const scenarios = [{ engine: 'socketio-v3', flow: [{ loop: [{ emit: ['move'] }, { think: 1 }] }] }];
  const { said, script } = await adopt(t, { config: V3, scenarios }, '--hold');
  assert.match(said, /its last step never ends: write a `count`/);
  assert.deepEqual(script.scenarios[0].flow, scenarios[0]?.flow);
});

it('adopt writes decisions that the user must make as comments, and makes its other changes', async (t) => {
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

it('adopt warns of functions that need another engine', async (t) => {
  const cwd = tempFolder(t);
  writeFileSync(join(cwd, 'own.cjs'), 'exports.f = (context, e, done) => { context.sockets[""].on("a", done); };');
  const scenarios = [{ engine: 'socketio-v3', flow: [{ function: 'f' }, { think: 1 }] }];
  writeFileSync(join(cwd, 'chat.yml'), JSON.stringify({ config: { ...V3, processor: './own.cjs' }, scenarios }));
  const { code, said } = await cli(cwd, 'adopt', 'chat.yml');
  assert.deepEqual([code, /context\.sockets.* waitFor/.test(said)], [0, true], said);
});

it('adopt exits with 2 if the user must decide something, and a run refuses its file until then', async (t) => {
  const { code, said, written } = await adopt(t, {
    config: {},
    scenarios: [{ engine: 'socketio', flow: [{ think: 1 }] }],
  });
  assert.equal(code, 2, said);
  assert.match(said, /A run refuses it until this is decided:[\s\S]*\n {2}config\.target: expected a URL/);
  assert.match(written, /"engine": "socketio-capacity"/);
});

it('adopt never overwrites a file, and refuses files that are not scenarios', async (t) => {
  const scenario = { config: V3, scenarios: [{ engine: 'socketio-v3', flow: [{ think: 1 }] }] };
  for (const [text, args, why] of [
    [scenario, ['--out', 'chat.yml'], /the scenario itself is never overwritten/],
    [scenario, ['--out', '/tmp/other.yml'], /a file in the folder of the scenario/],
    [scenario, ['--hold', '--leave'], /exclude each other/],
    [{ config: V3, scenarios: [{ engine: 'ws', flow: [] }] }, [], /no scenario has the engine socketio or socketio-v3/],
    [{ config: V3, scenarios: [{ flow: [{ connect: '/?EIO=3' }, { send: '42["a"]' }] }] }, [], /is Socket\.IO 2/],
    [{ config: V3, scenarios: [{ engine: 'socketio-v2', flow: [{ emit: ['a'] }] }] }, [], /is for Socket\.IO 2/],
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
