import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { runArtillery } from '../../helpers/artillery.ts';
import { startRecording } from '../../helpers/recording-server.ts';

/**
 * Flow for artillery-engine-socketio-v3. It runs with one virtual user, so that the flow determines the order of
 * events.
 */
const FLOW = [
  { connect: { auth: { token: '{{ token }}' } } },
  { emit: ['join', 'lobby', { n: 1, nested: { who: '{{ token }}' } }, 2] },
  { emit: { channel: 'say', data: { text: 'hello {{ token }}' } } },
  { emit: { channel: 'bare' } },
  { think: 0.1 },
  {
    emit: ['ask', '{{ token }}'],
    response: {
      on: 'answer',
      match: { json: '$.to', value: '{{ token }}' },
      capture: { json: '$.to', as: 'who' },
    },
  },
  { emit: ['ask', 'x'], response: { channel: 'answer', data: { to: 'x' } } },
  { emit: ['pair'], response: { on: 'pair-answer', args: ['ok', { id: 7 }], capture: { json: '$.1.id', as: 'id' } } },
  { connect: { auth: { id: '{{ id }}' } }, namespace: '/chat' },
  {
    emit: ['hello', '{{ who }}', '{{ id }}'],
    namespace: '/chat',
    acknowledge: { match: { json: '$.event', value: 'hello' }, capture: { json: '$.count', as: 'count' } },
  },
  { emit: ['counted', '{{ count }}'], acknowledge: { args: [{ event: 'counted', count: 1 }] } },
  { loop: [{ emit: ['n', '{{ $loopCount }}'] }], count: 3 },
  {
    loop: [{ loop: [{ emit: ['pair-of', '{{ letter }}', '{{ i }}'] }], count: 2, loopValue: 'i' }],
    over: ['a', 'b'],
    loopElement: 'letter',
  },
  { connect: { auth: { again: true } } },
  { emit: ['last'], acknowledge: {} },
];

async function record(t: TestContext, engine: string): Promise<string[]> {
  const { url: target, log } = await startRecording(t, ['/', '/chat']);
  const phases = [{ duration: 1, arrivalCount: 1 }];
  const { counters, output } = await runArtillery({
    config: { target, phases, engines: { [engine]: {} }, variables: { token: 'secret' } },
    scenarios: [{ engine, flow: FLOW }],
  });
  assert.equal(counters['vusers.completed'], 1, output);
  return [...log.slice(0, -2), ...log.slice(-2).sort()];
}

it('the engine sends the same events to a server as artillery-engine-socketio-v3', async (t) => {
  const [expected, actual] = await Promise.all(['socketio-v3', 'socketio-capacity'].map((engine) => record(t, engine)));
  assert.deepEqual(actual, expected);
  assert.equal(actual?.length, 22);
});
