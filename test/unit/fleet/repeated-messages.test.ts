import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { type Client, FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../../plugin/fleet/client/client.ts';
import type { Connection } from '../../../plugin/fleet/process/connections/connection.ts';
import { RepeatedMessages } from '../../../plugin/fleet/process/messages/repeated-messages.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { loneConnection } from '../../helpers/idle-process.ts';

/** Starts a process that sends a message each second, at a time that the test sets. */
function sending(t: { after(end: () => void): void }, changes: Partial<RepeatedMessage> = {}) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let nowUs = 10_000_000;
  const messages = new RepeatedMessages({ index: 0, of: 1 }, () => nowUs);
  t.after(() => messages.close());
  const message = { namespace: '/', event: 'batch', args: [], periodUs: 1_000_000, count: 1, acknowledge: true };
  messages.define(0, { ...message, ...changes });
  const sent: number[] = [];
  const client = { repeat: (_: RepeatedMessage, ackId?: number) => sent.push(ackId as number) > 0 } as Partial<Client>;
  const start = (): Connection => {
    const connection = loneConnection({ client: client as Client, open: true });
    messages.start(connection, 0);
    return connection;
  };
  /** Lets the process stall: timers fire only at the end. */
  const stall = (seconds: number) => {
    nowUs += seconds * 1e6;
    mock.timers.tick(seconds * 1000);
  };
  /** Lets time pass in small steps, so that timers fire on time. */
  const pass = (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms++) stall(0.001);
  };
  const totals = () => {
    const all = messages.snapshot();
    const { due, sent, notSent, ackNotRequested, acknowledged, unanswered, lost, measured, outside } = all;
    assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
    assert.equal(sent, ackNotRequested + acknowledged + unanswered + lost, 'sent = acknowledged + unanswered + lost');
    assert.equal(sent, measured.sent + outside.sent);
    return all;
  };
  return { messages, sent, start, pass, stall, totals };
}

test('each connection sends one repeated message in each period, from its start to its end', (t) => {
  const { messages, start, pass, sent, totals } = sending(t);
  const [one] = [start(), start(), start()];
  messages.start(one, 0);
  pass(5);
  assert.equal(new Set(sent).size, 15, 'each has an id of its own');
  messages.end(one);
  pass(2);
  assert.equal(sent.length, 19);
  assert.partialDeepStrictEqual(totals(), { connections: 3, due: 19, sent: 19, unanswered: 19 });
});

test('the time to the acknowledgement counts from the intended send, and includes its delay', (t) => {
  const { messages, start, stall, sent, totals } = sending(t);
  const connection = start();
  stall(1.2);
  assert.equal(messages.acknowledged(connection, sent[0] as number), true);
  const { outside, acknowledged, sent: all } = totals();
  assert.deepEqual([all, acknowledged], [1, 1]);
  for (const times of [outside.ackUs, outside.sendDelayUs]) {
    const { mean } = decodeHistogram(times);
    assert.ok(Math.abs(mean - 200_000) < 500, `${mean}`);
  }
});

test('a process that is more than a period late counts the missed messages, and sends the newest', (t) => {
  const { start, stall, totals } = sending(t, { count: 2 });
  start();
  stall(3.5);
  assert.partialDeepStrictEqual(totals(), { due: 6, sent: 2, notSent: { missed: 4, disconnected: 0 } });
});

test('the send schedule continues during a disconnect, and unacknowledged messages are lost', (t) => {
  const { messages, start, pass, totals } = sending(t);
  const connection = start();
  pass(2);
  connection.open = false;
  messages.disconnected(connection);
  pass(3);
  connection.open = true;
  pass(1);
  const notSent = { missed: 0, disconnected: 3 };
  assert.partialDeepStrictEqual(totals(), { notSent, sent: 3, lost: 2, unanswered: 1 });
});

test('acknowledgements count once, in any order, and only for messages of their own connection', (t) => {
  const { messages, start, pass, sent, totals } = sending(t);
  const one = start();
  pass(3);
  const other = start();
  const [first = 0, second = 0, third = 0] = sent;
  for (const [connection, ackId, counts] of [
    [other, first, false],
    [one, FIRST_REPEATED_ACK_ID + 99, false],
    [one, second, true],
    [one, second, false],
    [one, third, true],
  ] as const) {
    assert.equal(messages.acknowledged(connection, ackId), counts);
  }
  pass(1);
  assert.partialDeepStrictEqual(totals(), { acknowledged: 2, unanswered: sent.length - 2 });
});

test('counts connections with unacknowledged messages once each, until their last acknowledgement or their close', (t) => {
  const { messages, start, pass, sent, totals } = sending(t);
  const [one, other] = [start(), start()];
  pass(2);
  assert.equal(totals().waitingConnections, 2);
  for (const ackId of sent) messages.acknowledged(one, ackId);
  assert.equal(totals().waitingConnections, 1);
  messages.disconnected(other);
  assert.deepEqual([totals().waitingConnections, totals().lost], [0, 2]);
});

test('a message without an acknowledgement is sent without an id', (t) => {
  const { messages, start, pass, sent, totals } = sending(t, { acknowledge: false });
  start();
  pass(2);
  assert.deepEqual(sent, [undefined, undefined]);
  assert.deepEqual(
    [totals().ackNotRequested, messages.enter('rest')],
    [2, { sent: 2, unanswered: 0, skippedByServer: 0 }],
  );
});

test('each message belongs to the window in which it was due, even if its acknowledgement comes later', (t) => {
  const { messages, start, pass, sent, totals } = sending(t);
  const connection = start();
  pass(1);
  messages.enter('measure');
  pass(2);
  assert.deepEqual(messages.enter('rest'), { sent: 3, unanswered: 3, skippedByServer: 2 });
  pass(1);
  for (const ackId of sent) messages.acknowledged(connection, ackId);
  assert.partialDeepStrictEqual(totals(), { measured: { sent: 2, acknowledged: 2 }, outside: { acknowledged: 2 } });
});

test('sends no message after the stop, and still accepts acknowledgements of messages in flight', (t) => {
  const { messages, start, pass, sent, totals } = sending(t);
  const connection = start();
  pass(2);
  assert.deepEqual(messages.enter('stop'), { sent: 2, unanswered: 2, skippedByServer: 1 });
  pass(2);
  start();
  pass(2);
  messages.acknowledged(connection, sent[0] as number);
  assert.deepEqual(messages.enter('stop'), { sent: 2, unanswered: 1, skippedByServer: 0 });
  assert.equal(totals().due, 2);
});

test('counts messages as skipped while newer messages of their connection, or none, are acknowledged', (t) => {
  const { messages, start, pass, totals } = sending(t);
  const [behind, silent] = [start(), start()];
  pass(6);
  const own = [...(behind.unanswered?.keys() ?? [])];
  const acknowledge = (...which: number[]) => {
    for (const index of which) assert.equal(messages.acknowledged(behind, own[index] as number), true);
    return totals().skippedByServer;
  };
  const bySilent = 5;
  assert.deepEqual(acknowledge(0, 1), { batch: bySilent }, 'the newest of a queue may still come');
  assert.deepEqual(acknowledge(4), { batch: 2 + bySilent });
  assert.deepEqual(acknowledge(2), { batch: 1 + bySilent }, 'it was acknowledged late');
  assert.equal(messages.enter('rest').skippedByServer, 1 + bySilent);
  messages.disconnected(silent);
  messages.disconnected(behind);
  assert.deepEqual(totals().skippedByServer, {});
});
