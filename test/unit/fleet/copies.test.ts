/** Every frame with the broadcast event stands in one column: what the light client reads, as the ledger counts it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientSink } from '../../../plugin/fleet/client/client.ts';
import { CONTENT_CHECK_EVERY, Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { openConnection, text } from '../../helpers/fake-wire.ts';

const PLAN = { count: 3, bytes: 4 };
const ROOM = 'capacity';
const SENT = '"sentAtUs":1,"worker":"w0"';

/** A member whose connection reports to a ledger. */
function member(plan = PLAN) {
  const ledger = new Ledger(plan);
  const fake = openConnection();
  ledger.members.joined(0, ROOM, 'w0', 0);
  const sink: ClientSink = fake.sink;
  sink.onBroadcast = ({ slot }, seq, _sentAtUs, worker, receivedAtUs, copy) =>
    ledger.receive(slot, seq, worker, receivedAtUs, copy);
  sink.onUnreadable = () => ledger.receiveUnreadable();
  const send = (json: string) => fake.feed(text(`42${json}`));
  const row = (seq = 1) => ledger.freeze({ seq, room: ROOM, sentAtUs: 1, intendedAtUs: 1 });
  return { ledger, send, row, fake };
}

test('one frame of each kind stands in its column, and the columns add up', () => {
  const { ledger, send, row, fake } = member();
  const whole = `["broadcast",{"seq":1,${SENT},"data":"abcd"}]`;
  send(whole);
  send(whole);
  send(`["broadcast",{"seq":1,${SENT},"data":"abc"}]`);
  send(`["broadcast",{"seq":1,${SENT}}]`);
  send(`["broadcast",{"seq":4,${SENT},"data":"abcd"}]`);
  send(`["broadcast",{"seq":-1,${SENT},"data":"abcd"}]`);
  send('["broadcast",{"seq":"1"}]');
  send('["broadcast"]');
  send('["other",1]');
  const { received, duplicates, wrongSize } = row();
  send(whole);
  assert.deepEqual([received, duplicates, wrongSize], [1, 1, 2]);
  const { late, unreadable, neverOrdered, received: readable } = ledger.totals();
  assert.deepEqual([late, unreadable, neverOrdered], [1, 2, 2]);
  assert.equal(received + duplicates + wrongSize + late + neverOrdered, readable);
  assert.equal(fake.sink.all('ignored').length, 1);
});

test('the same broadcast counts however its JSON is written', () => {
  const ways = [
    `["broadcast",{"sentAtUs":-1.5e3,"worker":"w0","data":"abcd","seq":1}]`,
    `["broadcast",{"seq":1,"sentAtUs":12.75,"worker":"w0","data":"abcd"}]`,
    `["broadcast",{"seq":1,${SENT},"data":"ab\\u0063d"}]`,
    `["broadcast",{"seq":1,${SENT},"data":"abcé"}]`,
    `["broadcast",{"seq":1,${SENT},"data":"abcd","more":[1]}]`,
    `["\\u0062roadcast",{"seq":1,${SENT},"data":"abcd"}]`,
  ];
  for (const way of ways) {
    const { send, row } = member();
    send(way);
    assert.deepEqual([row().received, way], [1, way]);
  }
});

test('one copy in so many is compared with the first one', () => {
  const { send, row } = member();
  for (let copy = 1; copy <= 2 * CONTENT_CHECK_EVERY; copy++) {
    send(`["broadcast",{"seq":1,${SENT},"data":"${copy % 2 === 0 ? 'dcba' : 'abcd'}"}]`);
  }
  const { received, duplicates, wrongContent } = row();
  assert.deepEqual([received, duplicates, wrongContent], [1, 2 * CONTENT_CHECK_EVERY - 3, 2]);
});

test('receipts by connections that never asked to join, and by those whose join is under way', () => {
  const { ledger, row } = member();
  ledger.members.joining(1);
  for (const slot of [0, 1, 2]) ledger.receive(slot, 1, 'w0', 100);
  const { received, unexpected, notMember } = row();
  assert.deepEqual([received, unexpected, notMember], [1, 1, 1]);
});

test('a number that nobody ordered has no row', () => {
  const { ledger } = member();
  for (let seq = 4; seq < 10_000; seq++) ledger.receive(0, seq, 'w0', 100);
  ledger.receive(0, 2 ** 53, 'w0', 100);
  ledger.receive(0, 1.5, 'w0', 100);
  ledger.receive(0, 3, 'w0', 100);
  const { neverOrdered, open } = ledger.totals();
  assert.deepEqual([neverOrdered, open], [9998, 1]);
});
