import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { BroadcastChannel } from 'node:worker_threads';
import { EngineLink } from '../../../plugin/run/link.ts';
import { type EngineMessage, type FleetStatus, type HookMessage, linkChannelName } from '../../../protocol/link.ts';
import { page, snapshot } from '../../helpers/facts.ts';
import { eventually } from '../../helpers/poll.ts';

const STATUS: FleetStatus = {
  started: 5,
  connecting: 0,
  connected: 5,
  joined: 5,
  toOpen: 0,
  holding: 5,
  failed: 0,
  received: 7,
  joining: 0,
};

/** The other end, as an engine of an Artillery worker. */
class FakeEngine {
  readonly heard: HookMessage[] = [];
  readonly #channel: BroadcastChannel;
  readonly #id: string;

  constructor(t: TestContext, runId: string, id: string, answer: (message: HookMessage) => EngineMessage | undefined) {
    this.#id = id;
    this.#channel = new BroadcastChannel(linkChannelName(runId));
    this.#channel.onmessage = (event) => {
      const message = (event as { data: HookMessage }).data;
      this.heard.push(message);
      const reply = answer(message);
      if (reply) this.#channel.postMessage(reply);
    };
    t.after(() => this.#channel.close());
  }

  ready(): void {
    this.#channel.postMessage({ type: 'ready', engineId: this.#id });
  }

  status(status: FleetStatus): void {
    this.#channel.postMessage({ type: 'status', engineId: this.#id, status });
  }
}

function answering(engineId: string) {
  return (message: HookMessage): EngineMessage | undefined => {
    if (message.type === 'snapshot') return { ...message, engineId, snapshot: snapshot({ opened: 5 }) };
    if (message.type === 'freeze') {
      return { type: 'frozen', requestId: message.requestId, engineId, rows: [page(1, [10])] };
    }
    return message.type === 'close' ? { type: 'closed', requestId: message.requestId, engineId } : undefined;
  };
}

const never = new AbortController().signal;

test('all engines are asked, and their answers and statuses add up', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(runId);
  const engines = ['1', '2'].map((id) => new FakeEngine(t, runId, id, answering(id)));
  for (const engine of engines) {
    engine.ready();
    engine.status(STATUS);
  }
  await link.ready(never);
  await eventually('both statuses', () => link.status.connected === 10);
  assert.equal(link.status.received, 14);
  assert.equal((await link.snapshots()).length, 2);
  assert.equal((await link.freeze([])).length, 2);
  assert.equal(link.unanswered, 0);
  await link.close();
});

test('an engine that does not answer is given up and counted; the others’ answers stay', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(runId, 100);
  new FakeEngine(t, runId, 'dead', () => undefined).ready();
  const living = new FakeEngine(t, runId, 'living', answering('living'));
  living.ready();
  living.status(STATUS);
  await eventually('both engines', () => link.status.connected === 5);
  assert.equal((await link.snapshots()).length, 1);
  assert.equal(link.unanswered, 1);
  await link.close();
  assert.equal(link.unanswered, 2);
});

test('engines share in the warm-up; a failure of one, or its silence, is a failure', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(runId, 100);
  t.after(() => link.close());
  const outcomes: Record<string, string | undefined> = {};
  const warming = (engineId: string) => (message: HookMessage) =>
    message.type === 'warm-up' && outcomes[engineId] !== 'silence'
      ? { type: 'warmed' as const, engineId, requestId: message.requestId, failure: outcomes[engineId] }
      : undefined;
  const engines = ['1', '2'].map((id) => new FakeEngine(t, runId, id, warming(id)));
  for (const engine of engines) {
    engine.ready();
    engine.status(STATUS);
  }
  await eventually('both engines', () => link.status.connected === 10);
  const order = { connections: 5, together: 2, room: 'warm' };
  await link.warmUp(order);
  for (const { heard } of engines) {
    assert.deepEqual(
      heard.find(({ type }) => type === 'warm-up'),
      {
        type: 'warm-up',
        requestId: 1,
        order: { ...order, connections: 3 },
      },
    );
  }
  outcomes['2'] = 'closed: enough';
  await assert.rejects(link.warmUp(order), /closed: enough/);
  outcomes['2'] = 'silence';
  await assert.rejects(link.warmUp(order), /did not answer/);
});

test('an engine that comes late is told to start, too', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(runId);
  t.after(() => link.close());
  link.start();
  const engine = new FakeEngine(t, runId, '1', answering('1'));
  engine.ready();
  await eventually('start', () => engine.heard.some(({ type }) => type === 'start'));
});

test('waiting for engines ends with the run', async () => {
  const link = new EngineLink(randomUUID());
  const stop = new AbortController();
  const ready = link.ready(stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(ready, /stopped/);
  await link.close();
});
