import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { type Flow, type StepTable, stepName } from '../../../plugin/script/load/flow.ts';
import { readScenarios } from '../../../plugin/script/scenarios.ts';
import { ENGINE_NAME } from '../../../plugin/script/script.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import { column } from '../../helpers/columns.ts';

/** Seconds that all steps without a wait may take. */
const OTHER_STEPS = 10;

function flowOf(flow: unknown[], steps: StepTable = STEP_KINDS): Flow {
  return readScenarios({ config: {}, scenarios: [{ flow }] }, steps).flows[0] as Flow;
}

/** Flows, and the seconds for which their virtual users stay connected. */
const STAYS: [seconds: number, ...flow: unknown[]][] = [
  [2.5, { think: 2 }, { think: '500ms' }],
  [Infinity, { think: '{{ t }}' }],
  [Infinity, { think: 2 }, { hold: true }],
  [Infinity, { waitFor: { event: 'x' } }],
  [20, { loop: [{ think: 2 }, { loop: [{ think: 1 }], count: 3 }], count: 4 }],
  [6, { loop: [{ think: 2 }], count: '1-4' }],
  [6, { loop: [{ think: 2 }], over: ['a', 'b', 'c'] }],
  [Infinity, { loop: [{ emit: ['x'] }] }],
  [Infinity, { loop: [{ think: 1 }], whileTrue: 'f' }],
  [0, { loop: [{ hold: true }], count: 0 }],
  [3, [{ think: 1 }, { think: 2 }]],
];

it('estimates from the flow how long a virtual user stays', () => {
  for (const [seconds, ...flow] of STAYS)
    assert.equal(flowOf(flow).staySeconds, seconds + OTHER_STEPS, JSON.stringify(flow));
});

/** Step with a template, the value of the variable, and the step that runs. */
const FILLED: [step: object, value: string, filled: object][] = [
  [{ every: { emit: ['a'], seconds: '{{ $env.X }}' } }, '0.5', { every: { emit: ['a'], seconds: 0.5 } }],
  [
    { every: { emit: ['a'], seconds: 1, acknowledge: '{{ $env.X }}' } },
    'true',
    { every: { emit: ['a'], seconds: 1, acknowledge: true } },
  ],
  [{ every: { emit: ['a'], seconds: 1, count: '{{x}}' } }, '3', { every: { emit: ['a'], seconds: 1, count: 3 } }],
  [{ emit: ['a'], acknowledge: '{{ $env.X }}' }, 'true', { emit: ['a'], acknowledge: true }],
  [{ emit: ['a', '{{ $env.X }}'], timeout: '{{ $env.X }}' }, '5', { emit: ['a', '{{ $env.X }}'], timeout: 5 }],
  [{ emit: ['a'], reconnect: '{{ $env.X }}' }, 'false', { emit: ['a'], reconnect: false }],
  [{ waitFor: { event: 'a', timeout: '{{ x }}s' } }, '5', { waitFor: { event: 'a', timeout: '5s' } }],
  [{ connect: '/a', timeout: '{{ $env.X }}' }, '500ms', { connect: '/a', timeout: '500ms' }],
  [{ hold: '{{ $processEnvironment.X }}' }, 'true', { hold: true }],
  [{ think: '{{ $env.X }}' }, '2', { think: '{{ $env.X }}' }],
  [
    { loop: [{ hold: '{{ $env.X }}' }], count: '{{ $env.N }}' },
    'true',
    { loop: [{ hold: true }], count: '{{ $env.N }}' },
  ],
  [{ parallel: [{ get: { url: '/' } }], limit: '{{ $env.X }}' }, '2', { parallel: [{ get: { url: '/' } }], limit: 2 }],
];

it('fills templates where a step of the flow accepts only a number, a duration or a boolean', () => {
  for (const [step, X, filled] of FILLED) {
    const flow = [structuredClone(step)];
    const script = { config: { engine: ENGINE_NAME, variables: { x: [Number(X)] } }, scenarios: [{ flow }] };
    assert.deepEqual(readScenarios(script, STEP_KINDS, { X }).problems, [], JSON.stringify(step));
    assert.deepEqual(flow, [filled]);
  }
});

it('refuses a template that can differ between virtual users where a step needs one value for all', () => {
  const flow = [{ every: { emit: ['a'], seconds: '{{ x }}' } }, { emit: ['a'], timeout: '{{ $env.UNSET }}' }];
  const script = { config: { engine: ENGINE_NAME, variables: { x: [1, 2] } }, scenarios: [{ flow }] };
  const { problems } = readScenarios(script, STEP_KINDS, {});
  assert.deepEqual(column(problems, 'path'), ['scenarios[0].flow[0].every.seconds', 'scenarios[0].flow[1].timeout']);
  for (const { message } of problems) assert.match(message, /same for all virtual users.*\$env/);
});

it('the run’s own clients use the options of the first connect step, except for templates', () => {
  const connect = { path: '/a/', auth: { token: '{{ t }}' }, extraHeaders: { a: 'b' }, query: { q: 1 } };
  const read = flowOf([{ think: 1 }, { connect }, { connect: { path: '/b/' } }]).connect;
  assert.deepEqual(read, [{}, { path: '/a/', extraHeaders: { a: 'b' }, query: { q: '1' } }]);
});

it('derives the stay of a virtual user from the declarations of its steps, also for new kinds of steps', () => {
  const nap = {
    schema: z.strictObject({ nap: z.number() }),
    staySeconds: ({ nap: hours }: { nap: number }) => hours * 3600,
  } as StepTable[string];
  const flow = flowOf([{ nap: 2 }, { loop: [{ nap: 1 }], count: 2 }], { ...STEP_KINDS, nap });
  assert.equal(flow.staySeconds, 4 * 3600 + OTHER_STEPS);
});

it('accepts one verb in a step, and two if one verb declares the other', () => {
  assert.equal(stepName({ emit: ['a'], connect: true }, STEP_KINDS), 'emit');
  assert.equal(stepName({ think: 1, jitter: 1 }, STEP_KINDS), 'think');
  for (const none of [{ think: 1, log: 'x' }, { nonsense: 1 }, {}, 'think', null])
    assert.equal(stepName(none, STEP_KINDS), undefined);
});
