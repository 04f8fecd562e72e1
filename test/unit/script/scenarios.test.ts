import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mistakesIn } from '../../helpers/mistakes.ts';

function problems(flow: unknown[], config: Record<string, unknown> = {}, options: unknown = {}): string[] {
  const script = {
    config: { target: 'http://127.0.0.1:1', engines: { 'socketio-capacity': options }, ...config },
    scenarios: [{ engine: 'socketio-capacity', flow }],
  };
  return mistakesIn(script).map(({ path, message }) => `${path}: ${message}`);
}

describe('steps', () => {
  it('accepts every form there is', () => {
    const flow = [
      { connect: '/chat', timeout: 5 },
      { connect: true },
      { connect: { auth: { token: '{{ t }}' }, extraHeaders: { a: 'b' } }, namespace: '/chat' },
      { emit: ['a', 1, { b: [] }], namespace: '/x', response: { on: 'b', match: [{ json: '$.x', value: 0 }] } },
      { emit: { channel: 'a', data: 1 }, response: { channel: 'b', data: { ok: true } }, acknowledge: { data: 'x' } },
      { emit: ['a'], acknowledge: true, connect: {}, timeout: '500ms' },
      { waitFor: { event: 'a', namespace: '/', match: { json: '$', value: 1 }, capture: { json: '$', as: 'x' } } },
      { think: 0.5, jitter: '20%' },
      { think: '{{ t }}' },
      { loop: [{ loop: [{ think: 1 }], over: 'list' }], count: '1-5', loopValue: 'i' },
      { function: 'f' },
      { log: 'x' },
      {
        every: { seconds: 10, emit: { channel: 'a', data: 1 }, events: 150, count: 2, acknowledge: true },
        namespace: '/x',
      },
      { every: { seconds: 0.5, emit: ['a', 1, 2] } },
      { hold: true },
      { disconnect: true },
      [{ think: 1 }],
      { get: { url: '/login', capture: { json: '$.token', as: 'token' } } },
      { parallel: [{ post: { url: '/a', json: {}, ifTrue: 'n > 1' } }, { head: { uri: '/b' } }], limit: 2 },
      { emit: ['a'], beforeRequest: 'f', response: { on: 'b', data: 'part', concat: true } },
    ];
    assert.deepEqual(problems(flow, { processor: './p.js' }), []);
  });

  it('refuses what a message of `every` connection cannot be', () => {
    const flow = [
      { every: { seconds: 0, emit: ['a'] } },
      { every: { seconds: 10, emit: { channel: 'a', data: '{{ name }}' } } },
      { every: { seconds: 10, emit: ['a', 1, 2], events: 10 } },
      { every: { seconds: 10, emit: ['a'], events: 10 } },
      { every: 10, emit: ['a'] },
    ];
    const oneArgument = 'repeats the one argument of the event: write it as `data`';
    assert.deepEqual(
      problems(flow).map((problem) => problem.replace('scenarios[0].flow', '')),
      [
        '[0].every.seconds: Too small: expected number to be >=0.01',
        '[1].every: every connection sends the same bytes, so that a message costs no virtual user: write the values; templates are for `emit`',
        `[2].every.events: ${oneArgument}`,
        `[3].every.events: ${oneArgument}`,
        '[4]: a step cannot be both every and emit: write a list item for each',
      ],
    );
  });

  it('reports all mistakes at once, each with its place', () => {
    const flow = [
      { emti: ['a'] },
      { think: 1 },
      { loop: [{ think: 1 }, { emti: ['a'] }, { loop: [{ think: 'soon' }] }] },
      { emit: 'join' },
      { emit: ['a'], respnse: { on: 'b' } },
      { emit: ['a'], response: { onn: 'b' } },
      { emit: ['a'], acknowledge: { match: { json: '$.x' } } },
      { waitFor: 'tick' },
      { hold: 30 },
      { think: 1, log: 'x' },
      { get: { json: {} } },
      'disconnect',
      {},
      [{ tihnk: 1 }],
      { emit: { channel: 'a', response: { channel: 'b' } } },
      { connect: { auht: {} } },
    ];
    assert.deepEqual(problems(flow), [
      'scenarios[0].flow[0]: unknown step "emti", did you mean "emit"?',
      'scenarios[0].flow[2].loop[1]: unknown step "emti", did you mean "emit"?',
      'scenarios[0].flow[2].loop[2].loop[0].think: expected seconds, or a duration such as "500ms"',
      'scenarios[0].flow[3].emit: expected a list: emit: ["<event>", <argument>, …]',
      'scenarios[0].flow[4].respnse: unknown option, did you mean "response"?',
      'scenarios[0].flow[5].response.onn: unknown option, did you mean "on"?',
      'scenarios[0].flow[5].response: needs the event: on: "<event>"',
      'scenarios[0].flow[6].acknowledge.match.value: expected the value to compare with',
      'scenarios[0].flow[7].waitFor: expected the event: waitFor: {event: "<event>"}',
      'scenarios[0].flow[8].hold: write hold: true',
      'scenarios[0].flow[9]: a step cannot be both think and log: write a list item for each',
      'scenarios[0].flow[10].get: needs a url',
      'scenarios[0].flow[11]: expected a step such as {think: 1}, not "disconnect"',
      'scenarios[0].flow[12]: expected a step such as {think: 1}, not {}',
      'scenarios[0].flow[13][0]: unknown step "tihnk", did you mean "think"?',
      'scenarios[0].flow[14].emit.response: write it beside `emit`, not inside',
      'scenarios[0].flow[15].connect.auht: unknown option, did you mean "auth"?',
    ]);
  });

  it('knows whether a function exists, where it can', () => {
    const flow = [{ function: 'loginn' }, { loop: [{ think: 1 }], whileTrue: 'more' }];
    const path = 'scenarios[0].flow';
    assert.deepEqual(problems(flow, { processor: './p.js' }), []);
    assert.deepEqual(problems(flow, { processor: { login: () => {} } }), [
      `${path}[0].function: config.processor has no function "loginn", did you mean "login"?`,
      `${path}[1].whileTrue: config.processor has no function "more"`,
    ]);
    assert.equal(problems(flow).length, 2);
  });

  it('leaves other engines alone', () => {
    const script = {
      config: { target: 'x' },
      scenarios: [{ engine: 'socketio-v3', flow: [{ nonsense: 1 }] }, { flow: [] }],
    };
    assert.deepEqual(mistakesIn(script), []);
  });

  it('refuses hooks, and a scenario without a flow', () => {
    const hook = { engine: 'socketio-capacity', flow: [] };
    const script = { config: { target: 'http://x' }, before: hook, scenarios: [{ engine: 'socketio-capacity' }] };
    assert.deepEqual(
      mistakesIn(script).map(({ path }) => path),
      ['before.engine', 'scenarios[0].flow'],
    );
  });
});

describe('options', () => {
  it('reports all mistakes at once, each with its place', () => {
    const options = {
      timeot: 5,
      transports: ['polling'],
      reconnection: { attemps: 3 },
      reconnectionDelay: 100,
      tls: { ca: 1 },
      client: 'fast',
      localAddresses: ['here'],
    };
    assert.deepEqual(problems([], { target: 'nowhere', timeout: 'long', tls: { cert: 2, pfx: '' } }, options), [
      'config.engines.socketio-capacity.client: Invalid option: expected one of "light"|"official"',
      'config.engines.socketio-capacity.tls.ca: expected string, received number',
      'config.engines.socketio-capacity.reconnection.attemps: unknown option, did you mean "attempts"?',
      'config.engines.socketio-capacity.localAddresses[0]: expected an IP address',
      'config.engines.socketio-capacity.timeot: unknown option, did you mean "timeout"?',
      'config.engines.socketio-capacity.reconnectionDelay: unknown option: write reconnection: {delay: <seconds>}',
      'config.tls.cert: expected string, received number',
      'config.tls.pfx: unknown option',
      'config.timeout: expected seconds, or a duration such as "500ms", not long',
      'config.target: expected a URL such as http://localhost:3000',
    ]);
  });

  it('names the client that resumes TLS sessions', () => {
    const [problem] = problems([], {}, { client: 'official', tls: { resume: true } });
    assert.match(problem ?? '', /tls\.resume: only the light client resumes TLS sessions/);
  });
});
