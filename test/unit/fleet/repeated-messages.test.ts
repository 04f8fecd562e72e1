import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Client } from '../../../plugin/fleet/client/client.ts';
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../../plugin/fleet/client/repeated-message.ts';
import { Connection } from '../../../plugin/fleet/process/connections/connection.ts';
import { RepeatedMessages } from '../../../plugin/fleet/process/messages/repeated-messages.ts';
import { decodeHistogram } from '../../../protocol/histogram.ts';

const MESSAGE: RepeatedMessage = {
  namespace: '/',
  event: 'batch',
  args: [],
  periodUs: 1_000_000,
  count: 1,
  acknowledge: true,
};

/** A process at a time that the test sets. */
function sending(t: { after(end: () => void): void }, changes: Partial<RepeatedMessage> = {}) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const clock = { us: 10_000_000 };
  const messages = new RepeatedMessages({ index: 0, of: 1 }, () => clock.us);
  t.after(() => messages.close());
  messages.define(0, { ...MESSAGE, ...changes });
  const sent: (number | undefined)[] = [];
  const connect = (): Connection => {
    const client = { repeat: (_: RepeatedMessage, ackId?: number) => sent.push(ackId) > 0 } as Partial<Client>;
    return Object.assign(new Connection(1, false), { client: client as Client, open: true });
  };
  /** In steps as timers have them. */
  const pass = (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms++) {
      clock.us += 1000;
      mock.timers.tick(1);
    }
  };
  /** The process stands still: timers fire only at the end. */
  const stall = (seconds: number) => {
    clock.us += seconds * 1e6;
    mock.timers.tick(seconds * 1000);
  };
  const checked = () => {
    const totals = messages.snapshot();
    const { due, sent, notSent, unasked, acknowledged, unanswered, lost, measured, outside } = totals;
    assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
    assert.equal(sent, unasked + acknowledged + unanswered + lost, 'sent = acknowledged + unanswered + lost');
    assert.equal(sent, measured.sent + outside.sent);
    return totals;
  };
  return { messages, clock, sent, connect, pass, stall, checked };
}

test('each connection sends once in each period, from its begin to its end', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t);
  const connections = [connect(), connect(), connect()];
  for (const connection of connections) messages.start(connection, 0);
  pass(5);
  assert.equal(sent.length, 15);
  assert.equal(new Set(sent).size, 15, 'each has an id of its own');
  messages.end(connections[0] as Connection);
  pass(2);
  assert.deepEqual(checked(), { ...checked(), connections: 3, due: 19, sent: 19, unanswered: 19 });
});

test('a message that the connection sends already is not started again', (t) => {
  const { messages, connect, pass, sent } = sending(t);
  const connection = connect();
  messages.start(connection, 0);
  messages.start(connection, 0);
  pass(3);
  assert.equal(sent.length, 3);
});

test('the time to the acknowledgement counts from the intended send, and the delay of the send is in it', (t) => {
  const { messages, connect, stall, sent, checked } = sending(t);
  const connection = connect();
  messages.start(connection, 0);
  stall(1.2);
  assert.equal(sent.length, 1, 'late, and sent');
  assert.equal(messages.acknowledged(connection, sent[0] as number), true);
  const { outside, acknowledged } = checked();
  assert.equal(acknowledged, 1);
  const [ack, delay] = [decodeHistogram(outside.ackUs), decodeHistogram(outside.sendDelayUs)];
  assert.ok(Math.abs(ack.mean - 200_000) < 500, `${ack.mean}`);
  assert.ok(Math.abs(delay.mean - 200_000) < 500, `${delay.mean}`);
});

test('a process that is behind by more than a period counts what it missed, and sends the newest', (t) => {
  const { messages, connect, stall, sent, checked } = sending(t, { count: 2 });
  messages.start(connect(), 0);
  stall(3.5);
  assert.equal(sent.length, 2);
  const { due, notSent } = checked();
  assert.deepEqual([due, notSent], [6, { missed: 4, disconnected: 0 }]);
});

test('the schedule goes on while the connection is away, and what was not acknowledged then is lost', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t);
  const connection = connect();
  messages.start(connection, 0);
  pass(2);
  connection.open = false;
  messages.disconnected(connection);
  pass(3);
  assert.deepEqual(checked().notSent, { missed: 0, disconnected: 3 });
  connection.open = true;
  pass(1);
  assert.deepEqual([sent.length, checked().lost, checked().unanswered], [3, 2, 1]);
});

test('acknowledgements count once, and only of what the connection itself has sent', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t);
  const [one, other] = [connect(), connect()];
  messages.start(one, 0);
  pass(3);
  messages.start(other, 0);
  const [first, second, third] = sent as [number, number, number];
  assert.equal(messages.acknowledged(other, first), false);
  assert.equal(messages.acknowledged(one, FIRST_REPEATED_ACK_ID + 99), false);
  assert.equal(messages.acknowledged(one, second), true, 'in any order');
  assert.equal(messages.acknowledged(one, second), false);
  assert.equal(messages.acknowledged(one, third), true);
  pass(1);
  const { acknowledged, unanswered } = checked();
  assert.deepEqual([acknowledged, unanswered], [2, sent.length - 2]);
});

test('a message without an acknowledgement is sent without an id', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t, { acknowledge: false });
  messages.start(connect(), 0);
  pass(2);
  assert.deepEqual(sent, [undefined, undefined]);
  assert.deepEqual([checked().unasked, messages.enter('rest')], [2, { sent: 2, unanswered: 0 }]);
});

test('each message is of the window in which it was due, even if its acknowledgement comes later', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t);
  const connection = connect();
  messages.start(connection, 0);
  pass(1);
  messages.enter('measure');
  pass(2);
  assert.deepEqual(messages.enter('rest'), { sent: 3, unanswered: 3 });
  pass(1);
  for (const ackId of sent) messages.acknowledged(connection, ackId as number);
  const { measured, outside } = checked();
  assert.deepEqual([measured.sent, measured.acknowledged, outside.acknowledged], [2, 2, 2]);
});

test('after the stop nothing is sent, and what is under way can still be acknowledged', (t) => {
  const { messages, connect, pass, sent, checked } = sending(t);
  const connection = connect();
  messages.start(connection, 0);
  pass(2);
  assert.deepEqual(messages.enter('stop'), { sent: 2, unanswered: 2 });
  pass(2);
  messages.start(connect(), 0);
  pass(2);
  assert.equal(sent.length, 2);
  messages.acknowledged(connection, sent[0] as number);
  assert.deepEqual(messages.enter('stop'), { sent: 2, unanswered: 1 });
  assert.equal(checked().due, 2);
});
