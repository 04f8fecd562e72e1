import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openThreadCarrier } from '../../../protocol/link/carrier.ts';
import { eventually } from '../../helpers/poll.ts';

function opened(t: TestContext, runId: string) {
  const carrier = openThreadCarrier<unknown, unknown>(runId);
  const heard: unknown[] = [];
  carrier.onMessage = (message) => heard.push(message);
  t.after(() => carrier.close());
  return { carrier, heard };
}

describe('a carrier between threads', () => {
  it('a carrier delivers every message to all other members, complete and in order, but not to its sender', async (t) => {
    const runId = randomUUID();
    const [run, first, second] = [1, 2, 3].map(() => opened(t, runId));
    assert.ok(run && first && second);
    const messages = Array.from({ length: 50 }, (_, index) => ({
      index,
      failure: undefined,
      nested: { list: [1, 2] },
    }));
    for (const message of messages) run.carrier.send(message);
    await eventually('all messages', () => first.heard.length === 50 && second.heard.length === 50);
    assert.deepEqual(first.heard, messages);
    assert.deepEqual(second.heard, messages);
    first.carrier.send('answer');
    await eventually('the answer', () => run.heard.length === 1);
    assert.deepEqual(run.heard, ['answer']);
    assert.equal(first.heard.length, 50);
  });

  it('a carrier between threads keeps runs apart', async (t) => {
    const [one, other] = [opened(t, randomUUID()), opened(t, randomUUID())];
    const peer = opened(t, randomUUID());
    one.carrier.send(1);
    other.carrier.send(2);
    // Waits for the third member's message. A message of another run would have arrived before it.
    const own = randomUUID();
    const [a, b] = [opened(t, own), opened(t, own)];
    a.carrier.send('mine');
    await eventually('its own message', () => b.heard.length === 1);
    assert.deepEqual([one.heard, other.heard, peer.heard, a.heard], [[], [], [], []]);
  });

  it('a carrier delivers nothing after it is closed, even twice', async (t) => {
    const runId = randomUUID();
    const [closed, witness, sender] = [1, 2, 3].map(() => opened(t, runId));
    assert.ok(closed && witness && sender);
    closed.carrier.close();
    closed.carrier.close();
    closed.carrier.send('too late');
    sender.carrier.send('last');
    await eventually('the last message', () => witness.heard.length > 0);
    assert.deepEqual(witness.heard, ['last']);
    assert.deepEqual(closed.heard, []);
  });
});

it('a carrier reaches another thread, and keeps no process running', async () => {
  const runId = randomUUID();
  const code = `
    const { openThreadCarrier } = await import(${JSON.stringify(new URL('../../../protocol/link/carrier.ts', import.meta.url).href)});
    const carrier = openThreadCarrier(${JSON.stringify(runId)});
    carrier.onMessage = (message) => carrier.send(['echo', message]);
    carrier.send('there');
    setInterval(() => {}, 1000);
  `;
  const carrier = openThreadCarrier<unknown, unknown>(runId);
  const heard: unknown[] = [];
  carrier.onMessage = (message) => {
    heard.push(message);
    if (message === 'there') carrier.send('hello');
  };
  const worker = new Worker(code, { eval: true });
  await eventually('its answer', () => heard.length === 2);
  assert.deepEqual(heard, ['there', ['echo', 'hello']]);
  await worker.terminate();
  // The carrier stays open. It must not keep the process of the test running.
});
