/** Mistakes in flows and in options of the engine, each with its place. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { mistakesIn } from '../../helpers/mistakes.ts';

/** @returns places, without the part that all of them have */
function placesIn(flow: unknown[], config: Record<string, unknown> = {}, options: unknown = {}): string[] {
  return problems(flow, config, options).map(({ path }) =>
    path.replace('scenarios[0].flow', '').replace('config.engines.socketio-capacity.', ''),
  );
}

function problems(flow: unknown[], config: Record<string, unknown> = {}, options: unknown = {}) {
  return mistakesIn({
    config: { target: 'http://127.0.0.1:1', engines: { 'socketio-capacity': options }, ...config },
    scenarios: [{ engine: 'socketio-capacity', flow }],
  });
}

it('accepts every form of a step', () => {
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

it('reports all mistakes of a flow at once', () => {
  const mistakes: [step: unknown, place: string][] = [
    [{ emti: ['a'] }, ''],
    [{ loop: [{ think: 1 }, { emti: ['a'] }] }, '.loop[1]'],
    [{ loop: [{ loop: [{ think: 'soon' }] }] }, '.loop[0].loop[0].think'],
    [{ emit: 'join' }, '.emit'],
    [{ emit: ['a'], respnse: { on: 'b' } }, '.respnse'],
    [{ emit: ['a'], response: {} }, '.response'],
    [{ emit: ['a'], acknowledge: { match: { json: '$.x' } } }, '.acknowledge.match.value'],
    [{ waitFor: 'tick' }, '.waitFor'],
    [{ hold: 30 }, '.hold'],
    [{ think: 1, log: 'x' }, ''],
    [{ get: { json: {} } }, '.get'],
    ['disconnect', ''],
    [{}, ''],
    [[{ tihnk: 1 }], '[0]'],
    [{ connect: { auht: {} } }, '.connect.auht'],
    [{ every: { seconds: 0, emit: ['a'] } }, '.every.seconds'],
    [{ every: { seconds: 10, emit: { channel: 'a', data: '{{ name }}' } } }, '.every'],
    [{ every: { seconds: 10, emit: ['a', 1, 2], events: 10 } }, '.every.events'],
    [{ every: { seconds: 10, emit: ['a'], events: 10 } }, '.every.events'],
    [{ every: 10, emit: ['a'] }, ''],
  ];
  assert.deepEqual(
    placesIn(mistakes.map(([step]) => step)),
    mistakes.map(([, place], index) => `[${index}]${place}`),
  );
});

it('says what was meant', () => {
  for (const [step, meant] of [
    [{ emti: ['a'] }, 'emit'],
    [{ emit: ['a'], respnse: { on: 'b' } }, 'response'],
    [{ connect: { auht: {} } }, 'auth'],
  ] as const) {
    assert.ok(problems([step])[0]?.message.includes(`"${meant}"`), meant);
  }
});

it('knows whether a function exists, where it can', () => {
  const flow = [{ function: 'loginn' }, { loop: [{ think: 1 }], whileTrue: 'more' }];
  const places = ['[0].function', '[1].whileTrue'];
  assert.deepEqual(placesIn(flow, { processor: './p.js' }), []);
  assert.deepEqual(placesIn(flow, { processor: { login: () => {} } }), places);
  assert.deepEqual(placesIn(flow), places);
});

it('leaves other engines alone; refuses ours in hooks, and a scenario without a flow', () => {
  const others = [{ engine: 'socketio-v3', flow: [{ nonsense: 1 }] }, { flow: [] }];
  assert.deepEqual(mistakesIn({ config: { target: 'x' }, scenarios: others }), []);
  const hook = { engine: 'socketio-capacity', flow: [] };
  const script = { config: { target: 'http://x' }, before: hook, scenarios: [{ engine: 'socketio-capacity' }] };
  assert.deepEqual(column(mistakesIn(script), 'path'), ['before.engine', 'scenarios[0].flow']);
});

it('reports all mistakes of the options at once', () => {
  const options = {
    ...{ timeot: 5, transports: ['polling'], reconnection: { attemps: 3 }, tls: { ca: 1 }, client: 'fast' },
    localAddresses: ['here'],
  };
  assert.deepEqual(placesIn([], { target: 'nowhere', timeout: 'long', tls: { cert: 2 } }, options).sort(), [
    ...['client', 'config.target', 'config.timeout', 'config.tls.cert', 'localAddresses[0]'],
    ...['reconnection.attemps', 'timeot', 'tls.ca'],
  ]);
  assert.deepEqual(placesIn([], {}, { client: 'official', tls: { resume: true } }), ['tls.resume']);
});
