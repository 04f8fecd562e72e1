/** A whole run whose connections send messages again and again. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp, TOKEN } from '../helpers/app.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { quickScript } from '../helpers/run.ts';

const CONNECTIONS = 10;
const EVENTS = 3;
const HOLD_SECONDS = 3;

it('a run times the acknowledgement of every message that its connections send, and all counts foot', async (t) => {
  const every = { seconds: 0.5, emit: { channel: 'event_batch', data: { n: 1 } }, events: EVENTS, acknowledge: true };
  const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { every }, { hold: true }];
  const app = await startApp();
  t.after(() => app.close());
  const control = { urls: [app.controlUrl], token: TOKEN };
  const script = {
    ...quickScript({ target: app.url }, { control, hold: HOLD_SECONDS }),
    scenarios: [{ engine: 'socketio-capacity', flow }],
  };
  const { result, output } = await goodInProcess(script);
  const { messages, delivery, cpu, generator, connections } = result;
  assert.ok(messages);
  const { due, sent, notSent, acknowledged, window, ackMs, sendDelayMs, outsideAckMs, workers } = messages;
  assert.equal(messages.connections, CONNECTIONS);
  assert.deepEqual([due, notSent], [sent, { missed: 0, disconnected: 0 }]);
  assert.deepEqual([acknowledged, messages.answered, connections.unknownAcks], [sent, 1, 0]);
  // Two a second from each connection; the hold ends up to a period early or late for some.
  const expected = 2 * (window?.seconds ?? 0) * CONNECTIONS;
  assert.ok(Math.abs((window?.sent ?? 0) - expected) <= 2 * CONNECTIONS, `${window?.sent} messages in the hold`);
  assert.equal(ackMs?.count, window?.acknowledged);
  assert.equal((ackMs?.count ?? 0) + (outsideAckMs?.count ?? 0), acknowledged);
  assert.ok((ackMs?.p50 ?? 0) >= (sendDelayMs?.p50 ?? Infinity), 'the delay of the send is part of it');
  const [worker] = workers;
  assert.equal(workers.length, 1);
  assert.ok(Math.abs((worker?.batches ?? 0) - expected) <= 2 * CONNECTIONS, `${worker?.batches} batches at the worker`);
  assert.equal(worker?.events, (worker?.batches ?? 0) * EVENTS);
  assert.ok((worker?.handlerMs?.p95 ?? 0) > 0);
  assert.equal(cpu.worker?.idlePercent, null, 'nobody was idle');
  assert.ok(generator.some((loop) => loop.window === 'messages' && loop.part === 'fleet'));
  assert.equal(delivery?.coverage, 1, 'broadcasts go on as without messages');
  assert.match(output, /messages of clients acknowledged/);
});
