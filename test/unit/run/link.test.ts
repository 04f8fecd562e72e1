import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { EngineLink, NO_STATUS } from '../../../plugin/run/link.ts';
import { type MessageCarrier, openThreadCarrier } from '../../../protocol/link/carrier.ts';
import type { EngineIdentity, EngineMessage, EngineReport, RunMessage } from '../../../protocol/link/link-messages.ts';
import type { FleetStatus } from '../../../protocol/link/snapshot.ts';
import { assertEach } from '../../helpers/columns.ts';
import { frozenBroadcast, snapshot } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const STATUS: FleetStatus = {
  ...{ ...NO_STATUS, started: 5, connected: 5, joined: 5, holding: 5 },
  ...{ received: 7, reached: 7, loopLateMs: 3 },
};

/** Simulated engine of an Artillery worker at the other end of the link. */
class FakeEngine {
  readonly heard: RunMessage[] = [];
  readonly #carrier: MessageCarrier<EngineMessage, RunMessage>;
  readonly #from: EngineIdentity;

  constructor(t: TestContext, runId: string, from: EngineIdentity, answer: Answer) {
    this.#from = from;
    this.#carrier = openThreadCarrier(runId);
    this.#carrier.onMessage = (message) => {
      if ('from' in message) return; // Ignores a message for another engine.
      this.heard.push(message);
      const reply = answer(message);
      if (reply) this.send(reply);
    };
    t.after(() => this.#carrier.close());
  }

  send(report: EngineReport): void {
    this.#carrier.send({ from: this.#from, ...report });
  }

  /** Reports as ready, together with other engines of its host. */
  ready(engines = 1, status: Partial<FleetStatus> = {}): void {
    this.send({ type: 'ready', engines });
    this.send({ type: 'status', status: { ...STATUS, ...status } });
  }
}

type Answer = (message: RunMessage) => EngineReport | undefined;

function answering(message: RunMessage): EngineReport | undefined {
  if (message.type === 'snapshot') return { ...message, snapshot: snapshot({ connected: 5 }) };
  if (message.type === 'freeze')
    return { type: 'frozen', requestId: message.requestId, rows: [frozenBroadcast(1, [10])] };
  return message.type === 'close' ? { type: 'closed', requestId: message.requestId } : undefined;
}

const never = new AbortController().signal;

/** @param engineOf creates an engine of the link's run */
function linked(t: TestContext, options: ConstructorParameters<typeof EngineLink>[1] = {}) {
  const runId = randomUUID();
  const link = new EngineLink(openThreadCarrier(runId), options);
  t.after(() => link.close());
  const engineOf = (engine: string, answer: Answer = answering, host = 'here') =>
    new FakeEngine(t, runId, { host, engine }, answer);
  const connected = (count: number) => eventually(`${count} connected`, () => link.status.connected === count);
  return { link, engineOf, connected };
}

test('the link adds up statuses by host, and keeps the largest loop delay', async (t) => {
  const { link, engineOf, connected } = linked(t, { hosts: 2 });
  for (const [index, loopLateMs] of [2, 40, 7].entries()) {
    engineOf(`${index}`, answering, index < 2 ? 'a' : 'b').ready(1, { loopLateMs });
  }
  await connected(15);
  assertEach(
    [link.status, ...['a', 'b', 'c'].map((host) => link.statusOf(host))],
    ({ connected, received, loopLateMs }) => `${connected}, ${received}, ${loopLateMs} ms`,
    ['15, 21, 40 ms', '10, 14, 40 ms', '5, 7, 7 ms', '0, 0, 0 ms'],
  );
});

test('the link waits for all engines of all hosts', async (t) => {
  const { link, engineOf, connected } = linked(t, { hosts: 2 });
  const [a1, a2, b1] = [engineOf('1', answering, 'a'), engineOf('2', answering, 'a'), engineOf('1', answering, 'b')];
  let isReady = false;
  const waited = link.ready(never).then(() => {
    isReady = true;
  });
  a1.ready(2);
  b1.ready();
  await connected(10);
  assert.equal(isReady, false);
  a2.ready(2);
  await waited;
});

test('the link queries all engines, counts the engine that times out, and keeps the other replies', async (t) => {
  const { link, engineOf, connected } = linked(t, { replyTimeoutMs: 100 });
  for (const id of ['1', '2']) engineOf(id).ready();
  await connected(10);
  assert.deepEqual([(await link.snapshots()).length, (await link.freeze([])).length, link.unanswered], [2, 2, 0]);
  engineOf('dead', () => undefined).ready();
  await connected(15);
  assert.deepEqual([(await link.snapshots()).length, link.unanswered], [2, 1]);
  await link.close();
  assert.equal(link.unanswered, 2);
});

test('the link requests the ledger rows of many hosts in parts', async () => {
  const hosts = Array.from({ length: 1000 }, (_, index) => `host-${index}`);
  const row = frozenBroadcast(0, [1]);
  const sizes: number[] = [];
  const carrier: MessageCarrier<RunMessage, EngineMessage> = {
    onMessage: () => {},
    close: () => {},
    send(message) {
      if (message.type !== 'freeze') return;
      const { requestId, broadcasts } = message;
      sizes.push(broadcasts.length);
      const rows = broadcasts.map(({ seq }) => ({ ...row, seq }));
      const reply = (host: string) =>
        carrier.onMessage({ from: { host, engine: '1' }, type: 'frozen', requestId, rows });
      queueMicrotask(() => hosts.forEach(reply));
    },
  };
  const link = new EngineLink(carrier, { hosts: hosts.length });
  for (const host of hosts) carrier.onMessage({ from: { host, engine: '1' }, type: 'ready', engines: 1 });
  await link.ready(never);
  const orders = [1, 2, 3, 4, 5].map((seq) => ({ seq, room: 'r', sentAtUs: 0, intendedAtUs: 0 }));
  assert.deepEqual([(await link.freeze(orders)).length, sizes], [5000, [2, 2, 1]]);
});

test('engines share the warm-up, which fails if one of them fails or is silent', async (t) => {
  const { link, engineOf, connected } = linked(t, { replyTimeoutMs: 100 });
  let ofSecond: string | undefined;
  const warming =
    (id: string): Answer =>
    ({ type, ...message }) => {
      if (type !== 'warm-up' || (id === '2' && ofSecond === 'silence')) return undefined;
      const { requestId } = message as { requestId: number };
      return { type: 'warmed', requestId, failure: id === '2' ? ofSecond : undefined };
    };
  const engines = ['1', '2'].map((id) => engineOf(id, warming(id)));
  for (const engine of engines) engine.ready();
  await connected(10);
  const order = { connections: 5, together: 2, room: 'warm' };
  await link.warmUp(order);
  for (const { heard } of engines) {
    const [asked] = heard.filter(({ type }) => type === 'warm-up');
    assert.deepEqual(asked, { type: 'warm-up', requestId: 1, order: { ...order, connections: 3 } });
  }
  ofSecond = 'closed: enough';
  await assert.rejects(link.warmUp(order), /closed: enough/);
  ofSecond = 'silence';
  await assert.rejects(link.warmUp(order), /did not answer/);
});

test('the link sends the start message to an engine that connects late', async (t) => {
  const { link, engineOf } = linked(t);
  link.start();
  const engine = engineOf('1');
  engine.ready();
  await eventually('start', () => engine.heard.some(({ type }) => type === 'start'));
});

test('the link stops waiting for engines when the run ends', async (t) => {
  const stop = new AbortController();
  const ready = linked(t).link.ready(stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(ready, /stopped/);
});

test('the link sends messages to all engines, and adds up their counts', async (t) => {
  const { link, engineOf, connected } = linked(t);
  const counting: Answer = (message) =>
    message.type === 'messages' && message.stage === 'stop'
      ? { type: 'messages', requestId: message.requestId, counts: { sent: 5, unanswered: 2, skippedByServer: 1 } }
      : answering(message);
  for (const id of ['1', '2']) engineOf(id, counting).ready();
  await connected(10);
  assert.deepEqual(await link.messages('stop'), { sent: 10, unanswered: 4, skippedByServer: 2 });
});
