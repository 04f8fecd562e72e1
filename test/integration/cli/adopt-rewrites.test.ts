/** Tests that `adopt` writes the lines that refusals propose, and moves options to their new place. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { adoptFlow } from '../../helpers/adopt.ts';

/** Lines that no shape in test/fixtures/shapes has. */
const REWRITTEN: [step: object, becomes: object][] = [
  [{ on: { event: 'price' } }, { waitFor: { event: 'price' } }],
  [{ namespace: '/chat' }, { connect: '/chat' }],
  [{ join: { event: 'enter', data: 'r1' } }, { emit: ['enter', 'r1'] }],
  [{ send: ['say', 'hi', 2] }, { emit: ['say', 'hi', 2] }],
  [{ repeat: { times: 3, steps: [{ wait: 1 }] } }, { loop: [{ think: 1 }], count: 3 }],
  [{ connect: { url: 'http://x' } }, { connect: {} }],
  [{ connect: { token: 'x' } }, { connect: { auth: { token: 'x' } } }],
  [{ every: { interval: 1, emit: ['a'] } }, { every: { seconds: 1, emit: ['a'] } }],
  [{ waitFor: { on: 'a' } }, { waitFor: { event: 'a' } }],
  [{ emit: ['a', '{{ $guid }}-{{ $random }}'] }, { emit: ['a', '{{ $uuid }}-{{ $randomNumber(1, 1000) }}'] }],
];

it('adopt changes a scenario as the error message of a refused scenario suggests', async (t) => {
  for (const [step, becomes] of REWRITTEN) {
    const { flow, said } = await adoptFlow(t, [{ think: 1 }, step]);
    assert.deepEqual(flow[1], becomes, said);
  }
});

it('adopt moves options to the section in which this engine reads them', async (t) => {
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

it('adopt gives each user its own option values, and replaces phases without arrivals by pauses', async (t) => {
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
