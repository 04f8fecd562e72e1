import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runArtillery } from '../../helpers/artillery.ts';
import { RecordingServer } from '../../helpers/recording-server.ts';

/** Written for artillery-engine-socketio-v3. One virtual user, so that the order of events is the flow's. */
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

async function record(engine: string): Promise<{ log: string[]; counters: Record<string, number>; output: string }> {
  const server = new RecordingServer(['/', '/chat']);
  const target = await server.start();
  const { counters, output } = await runArtillery({
    config: {
      target,
      phases: [{ duration: 1, arrivalCount: 1 }],
      engines: { [engine]: {} },
      variables: { token: 'secret' },
    },
    scenarios: [{ engine, flow: FLOW }],
  });
  await server.close();
  return { log: server.log, counters, output };
}

it('leaves the same log on a server as artillery-engine-socketio-v3', async () => {
  const [theirs, ours] = await Promise.all([record('socketio-v3'), record('socketio-capacity')]);
  assert.equal(theirs.counters['vusers.completed'], 1, theirs.output);
  assert.equal(ours.counters['vusers.completed'], 1, ours.output);
  // Which of two connections is seen to end first is nobody's decision.
  const ending = (log: string[]) => [...log.slice(0, -2), ...log.slice(-2).sort()];
  assert.deepEqual(ending(ours.log), ending(theirs.log));
  assert.equal(ours.log.length, 22);
});
