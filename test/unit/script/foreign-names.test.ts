/**
 * Tests names of other engines, guessed names, and templates without a value. They are refused before the load, with a
 * suggestion.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';

const ENGINE = 'socketio-capacity';

/** Returns the problems as `path: message`. Paths in the flow are relative to the flow. */
function refusals(flow: unknown[], { config = {}, scenario = {}, env = {}, ...script } = {} as Record<string, object>) {
  try {
    const own = { target: 'http://127.0.0.1:1', engines: { [ENGINE]: {} }, phases: [{ duration: 1, arrivalRate: 1 }] };
    const read = { ...script, config: { ...own, ...config }, scenarios: [{ engine: ENGINE, flow, ...scenario }] };
    readSettings(read, STEP_KINDS, env as NodeJS.ProcessEnv);
    return [];
  } catch (error) {
    const [, ...lines] = (error as Error).message.split('\n');
    return lines.map((line) => line.trim().replace(/^scenarios\[0\]\.flow/, ''));
  }
}

/** Names that people use in whole scenarios are in test/fixtures/shapes. */
const STEPS_WITH_HINTS: [step: unknown, hint: string][] = [
  [{ on: { event: 'price', function: 'check' } }, 'function "check" needs a config.processor'],
  [{ check: { json: '$.0.ok' } }, 'write match: {json: $.0.ok, value: true} in `acknowledge`'],
  [{ subscribe: 'news' }, 'write emit: ["news", <data>]'],
  [{ repeat: 3 }, 'write loop: [<steps>]'],
  [{ emit: ['a'], check: {} }, 'write match: {json'],
  [{ emit: ['a'], acknowledge: { check: {} } }, 'write match: {json'],
];

it('refuses names of other engines, and suggests the line to write instead', () => {
  for (const [index, [step, hint]] of STEPS_WITH_HINTS.entries()) {
    const found = refusals([{ think: 0 }, step]);
    assert.ok(
      found.some((line) => line.startsWith('[1]') && line.includes(hint)),
      `${index} ${JSON.stringify(step)}: ${found.join(' | ')}`,
    );
  }
});

it('refuses unused options, and suggests where to write them', () => {
  const config = { headers: { a: 'b' }, payload: { path: 'users.csv', fields: ['name'] } };
  const scenario = { payload: { path: 'x.csv' }, context: { socketio: { auth: {} } }, name: 'chat', weight: 1 };
  assert.deepEqual(refusals([{ think: 1 }], { config, scenario }), [
    `config.headers: nothing reads it: write it in config.engines.${ENGINE}, for the connections`,
    'scenarios[0].payload: nothing reads it in a scenario: write it in `config`',
    'scenarios[0].context: nothing reads it: write it in `socketio` of the scenario',
  ]);
});

it('refuses templates that nothing fills, with their paths', () => {
  const flow = [
    { emit: ['answer', { id: '{{ questionId }}', n: '{{ $randomInt }}', $: '{{$randomNumbr(1,2)}}' }] },
    { connect: { auth: { token: 'Bearer {{ user.token }}' }, query: { from: '{{ $env.FROM }}' } } },
    { loop: [{ think: '{{ $loopElement }}' }], count: 2 },
  ];
  const scenario = { socketio: { headers: { 'x-id': '{{ id }}' } } };
  const found = refusals(flow, { scenario }).map((line) => line.replace(/(?<=: .*): .*/, ''));
  assert.deepEqual(found, [
    'scenarios[0].socketio.headers.x-id: no payload, variable, capture, loop or function sets id',
    '[0].emit[1].id: no payload, variable, capture, loop or function sets questionId',
    '[0].emit[1].n: no payload, variable, capture, loop or function sets $randomInt',
    '[0].emit[1].$: Artillery has no function $randomNumbr, did you mean "$randomNumber"?',
    '[1].connect.auth.token: no payload, variable, capture, loop or function sets user',
    '[1].connect.query.from: the environment variable FROM is not set',
    '[2].loop[0].think: no payload, variable, capture, loop or function sets $loopElement',
  ]);
  assert.match(refusals([{ loop: [{ think: 1 }], over: 'lists' }]).join(), /^\[0\]\.over: .* sets lists/);
  assert.match(refusals([{ log: '{{ $randomInt }}' }]).join(), /write \{\{ \$randomNumber\(1, 1000\) \}\}/);
});

it('accepts templates that a variable, a capture or a function fills', () => {
  const flow = [
    { post: { url: '/login', capture: [{ json: '$.token', as: 'token' }] } },
    { connect: { auth: { token: '{{ token }}', user: '{{ user.name }}', first: '{{ rows[0].a }}' } } },
    {
      emit: ['a', '{{ $uuid }}{{ $testId }}{{target}}{{ $environment }}{{ $randomNumber(1, 9) }}{{ $randomString() }}'],
    },
    {
      loop: [{ emit: ['b', '{{ index }}', '{{ $loopElement.id }}', '{{ $env.FROM }}'] }],
      over: 'rows',
      loopValue: 'index',
    },
    { emit: ['c', '{{ early }}', '{{ not a template! }}', { over: 'text' }] },
  ];
  const config = { variables: { user: [{ name: 'a' }] }, payload: [{ path: 'x.csv', name: 'rows', loadAll: true }] };
  const before = { flow: [{ get: { url: '/', capture: { json: '$.x', as: 'early' } } }] };
  assert.deepEqual(refusals(flow, { config, before, env: { FROM: '' } }), []);
});

it('accepts templates of unknown variables if a user function could set them', () => {
  const late = { emit: ['a', '{{ x }}'] };
  const config = { processor: './functions.js' };
  assert.deepEqual(refusals([{ function: 'login' }, late], { config }), []);
  assert.deepEqual(refusals([{ emit: ['a', '{{ x }}'], beforeRequest: 'fill' }], { config }), []);
  assert.deepEqual(refusals([late], { config, scenario: { beforeScenario: 'login' } }), []);
  assert.deepEqual(refusals([late], { config: { plugins: { 'fake-data': {} } } }), []);
  assert.equal(refusals([late, { function: 'login' }], { config }).length, 1);
  assert.equal(refusals([late], { config, scenario: { afterScenario: 'logout' } }).length, 1);
});
