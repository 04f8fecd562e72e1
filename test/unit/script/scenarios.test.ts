import assert from 'node:assert/strict';
import { it } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { mistakesIn } from '../../helpers/mistakes.ts';

const ENGINE = 'socketio-capacity';

function problems(flow: unknown[], config: Record<string, unknown> = {}, options: unknown = {}) {
  return mistakesIn({
    config: { target: 'http://127.0.0.1:1', engines: { [ENGINE]: options }, ...config },
    scenarios: [{ engine: ENGINE, flow }],
  });
}

/** Returns the paths of the problems, without their common prefix. */
function placesIn(...given: Parameters<typeof problems>): string[] {
  return problems(...given).map(({ path }) => path.replace(/^scenarios\[0\]\.flow|^config\.engines\.[^.]*\./, ''));
}

it('accepts every documented form of a step', () => {
  const flow = [
    { connect: '/chat', timeout: 5 },
    {
      emit: ['a', 1, { b: [] }],
      response: { on: 'b', match: [{ json: '$.x', value: 0 }], data: 'part', concat: true },
    },
    { emit: ['a'], acknowledge: true, connect: {}, timeout: '500ms' },
    { think: 0.5, jitter: '20%' },
    { loop: [{ loop: [{ think: 1 }], over: 'list' }], count: '1-5', loopValue: 'i' },
    [{ think: 1 }],
    { get: { url: '/login', capture: { json: '$.token', as: 'token' } } },
    { parallel: [{ post: { url: '/a', json: {}, ifTrue: 'n > 1' } }, { head: { uri: '/b' } }], limit: 2 },
  ];
  assert.deepEqual(problems(flow), []);
});

const MISTAKES: [place: string, step: unknown, meant?: string][] = [
  ['', { emti: ['a'] }, 'emit'],
  ['.loop[1]', { loop: [{ think: 1 }, { emti: ['a'] }] }],
  ['.loop[0].loop[0].think', { loop: [{ loop: [{ think: 'soon' }] }] }],
  ['.emit', { emit: 'join' }],
  ['.respnse', { emit: ['a'], respnse: { on: 'b' } }, 'response'],
  ['.response', { emit: ['a'], response: {} }],
  ['.acknowledge.match.value', { emit: ['a'], acknowledge: { match: { json: '$.x' } } }],
  ['.waitFor', { waitFor: 'tick' }],
  ['.hold', { hold: 30 }],
  ['', { think: 1, log: 'x' }],
  ['.get', { get: { json: {} } }],
  ['', 'disconnect'],
  ['', {}],
  ['[0]', [{ tihnk: 1 }]],
  ['.connect.auht', { connect: { auht: {} } }, 'auth'],
  ['.every.seconds', { every: { seconds: 0, emit: ['a'] } }],
  ['.every', { every: { seconds: 10, emit: { channel: 'a', data: '{{ name }}' } } }],
  ['.every.events', { every: { seconds: 10, emit: ['a', 1, 2], events: 10 } }],
  ['.every.events', { every: { seconds: 10, emit: ['a'], events: 10 } }],
  ['', { every: 10, emit: ['a'] }],
];

it('reports all mistakes of a flow at once, and suggests similar names of steps', () => {
  const found = problems(column(MISTAKES, 1) as unknown[]);
  assert.equal(found.length, MISTAKES.length);
  for (const [index, [place, step, suggestion = '']] of MISTAKES.entries()) {
    assert.equal(found[index]?.path, `scenarios[0].flow[${index}]${place}`, JSON.stringify(step));
    assert.ok(found[index]?.message.includes(suggestion), suggestion);
  }
});

it('reports unknown functions of a flow if the functions of the processor are known', () => {
  const flow = [{ function: 'loginn' }, { loop: [{ think: 1 }], whileTrue: 'more' }];
  const places = ['[0].function', '[1].whileTrue'];
  assert.deepEqual(placesIn(flow, { processor: './p.js' }), []);
  assert.deepEqual(placesIn(flow, { processor: { login: () => {} } }), places);
  assert.deepEqual(placesIn(flow), places);
});

it('checks only scenarios of this engine, and refuses a scenario without a flow', () => {
  const others = [{ engine: 'socketio-v3', flow: [{ nonsense: 1 }] }, { flow: [] }];
  assert.deepEqual(mistakesIn({ config: { target: 'x' }, scenarios: others }), []);
  const script = {
    config: { target: 'http://x', engine: ENGINE },
    before: { engine: ENGINE, flow: [] },
    after: { flow: [{ get: { url: '/logout' } }] },
    scenarios: [{ engine: ENGINE }],
  };
  assert.deepEqual(column(mistakesIn(script), 'path'), ['before.engine', 'scenarios[0].flow']);
});

it('reports all mistakes of the engine options at once', () => {
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
