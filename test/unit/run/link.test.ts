import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { EngineLink } from '../../../plugin/run/link.ts';
import { type Carrier, openThreadCarrier } from '../../../protocol/link/carrier.ts';
import type { EngineIdentity, EngineMessage, EngineReport, RunMessage } from '../../../protocol/link/messages.ts';
import type { FleetStatus } from '../../../protocol/link/status.ts';
import { frozenBroadcast, snapshot } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const STATUS: FleetStatus = {
  started: 5,
  connecting: 0,
  connected: 5,
  joined: 5,
  holding: 5,
  failed: 0,
  failures: {},
  ended: {},
  received: 7,
  reached: 7,
  joining: 0,
  upgrading: 0,
  away: 0,
  loopLateMs: 3,
};

/** The other end, as an engine of an Artillery worker. */
class FakeEngine {
  readonly heard: RunMessage[] = [];
  readonly #carrier: Carrier<EngineMessage, RunMessage>;
  readonly #from: EngineIdentity;

  constructor(
    t: TestContext,
    runId: string,
    engine: string,
    answer: (message: RunMessage) => EngineReport | undefined,
    host = 'here',
  ) {
    this.#from = { host, engine };
    this.#carrier = openThreadCarrier(runId);
    this.#carrier.onMessage = (message) => {
      this.heard.push(message);
      const reply = answer(message);
      if (reply) this.send(reply);
    };
    t.after(() => this.#carrier.close());
  }

  send(report: EngineReport): void {
    this.#carrier.send({ from: this.#from, ...report });
  }

  ready(engines = 1): void {
    this.send({ type: 'ready', engines });
  }

  status(status: FleetStatus): void {
    this.send({ type: 'status', status });
  }
}

function answering(message: RunMessage): EngineReport | undefined {
  if (message.type === 'snapshot') return { ...message, snapshot: snapshot({ connected: 5 }) };
  if (message.type === 'freeze')
    return { type: 'frozen', requestId: message.requestId, rows: [frozenBroadcast(1, [10])] };
  return message.type === 'close' ? { type: 'closed', requestId: message.requestId } : undefined;
}

const never = new AbortController().signal;

test('statuses add up by host, and of the lateness of loops the largest counts', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId), { hosts: 2 });
  const engines = ['a', 'a', 'b'].map((host, index) => new FakeEngine(t, runId, String(index), answering, host));
  for (const [index, engine] of engines.entries()) {
    engine.ready();
    engine.status({ ...STATUS, loopLateMs: [2, 40, 7][index] as number });
  }
  await eventually('all statuses', () => link.status.connected === 15);
  const of = ({ connected, received, loopLateMs }: FleetStatus) => [connected, received, loopLateMs];
  assert.deepEqual(of(link.status), [15, 21, 40]);
  assert.deepEqual(of(link.statusOf('a')), [10, 14, 40]);
  assert.deepEqual(of(link.statusOf('b')), [5, 7, 7]);
  assert.deepEqual(of(link.statusOf('c')), [0, 0, 0]);
  await link.close();
});

test('all engines are asked, and their answers and statuses add up', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId));
  const engines = ['1', '2'].map((id) => new FakeEngine(t, runId, id, answering));
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

test('a run waits for all engines of all hosts', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId), { hosts: 2 });
  t.after(() => link.close());
  const of = (host: string, id: string) => new FakeEngine(t, runId, id, answering, host);
  const [a1, a2, b1] = [of('a', '1'), of('a', '2'), of('b', '1')];
  let isReady = false;
  const waited = link.ready(never).then(() => {
    isReady = true;
  });
  a1.ready(2);
  b1.ready(1);
  a1.status(STATUS);
  await eventually('the first status', () => link.status.connected === 5);
  assert.equal(isReady, false);
  a2.ready(2);
  await waited;
});

test('an engine that does not answer is given up and counted; the others’ answers stay', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId), { replyTimeoutMs: 100 });
  new FakeEngine(t, runId, 'dead', () => undefined).ready();
  const living = new FakeEngine(t, runId, 'living', answering);
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
  const link = new EngineLink(openThreadCarrier(runId), { replyTimeoutMs: 100 });
  t.after(() => link.close());
  const outcomes: Record<string, string | undefined> = {};
  const warming = (engineId: string) => (message: RunMessage) =>
    message.type === 'warm-up' && outcomes[engineId] !== 'silence'
      ? { type: 'warmed' as const, requestId: message.requestId, failure: outcomes[engineId] }
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
  const link = new EngineLink(openThreadCarrier(runId));
  t.after(() => link.close());
  link.start();
  const engine = new FakeEngine(t, runId, '1', answering);
  engine.ready();
  await eventually('start', () => engine.heard.some(({ type }) => type === 'start'));
});

test('waiting for engines ends with the run', async () => {
  const link = new EngineLink(openThreadCarrier(randomUUID()));
  const stop = new AbortController();
  const ready = link.ready(stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(ready, /stopped/);
  await link.close();
});

test('messages are told to all engines, and what they have counted is added up', async (t) => {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId));
  t.after(() => link.close());
  const answer = (message: RunMessage): EngineReport | undefined => {
    if (message.type === 'close') return { type: 'closed', requestId: message.requestId };
    if (message.type !== 'messages') return undefined;
    return { type: 'messages', requestId: message.requestId, counts: { sent: 5, unanswered: 2 } };
  };
  const engines = ['1', '2'].map((id) => new FakeEngine(t, runId, id, answer));
  for (const engine of engines) engine.ready();
  await link.ready(new AbortController().signal);
  await eventually('both engines', async () => (await link.messages('stop')).sent === 10);
  assert.deepEqual(await link.messages('stop'), { sent: 10, unanswered: 4 });
  for (const { heard } of engines) {
    assert.ok(heard.some((message) => message.type === 'messages' && message.stage === 'stop'));
  }
});
