/** Every frame with an own event stands in one column: what the light client reads, as a fleet process counts it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { AUDIENCE } from '../../../protocol/rooms.ts';
import { openConnection, text } from '../../helpers/fake-wire.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';

const WHOLE = '["said",{"id":"a"}]';
const PLAN = { event: 'said', id: ['0', 'id'], sentAt: undefined, bytes: WHOLE.length, join: undefined };

test('one frame of each kind stands in its column, and the columns add up', (t) => {
  const fake = openConnection({}, PLAN);
  const process = new IdleProcess(t, { ownEvent: PLAN }, () => fake.connection);
  const { state } = process;
  process.open(1, '/');
  assert.equal(state.acknowledgements.joined, 1, 'a connection is a member');
  fake.sink.onOwnEvent = state.reports.onOwnEvent.bind(state.reports);
  fake.sink.onUnreadable = state.reports.onUnreadable.bind(state.reports);
  const send = (...frames: string[]) => {
    for (const json of frames) fake.feed(text(`42${json}`));
  };

  send('["said",{"id":"x"}]');
  state.sight({ watch: true, outside: [] });
  send('["said",{"id":"x"}]', WHOLE, WHOLE, '["said",{"id":"a","more":1}]', '["said",{"id":"b"}]');
  send('["said",{"name":"a"}]', '["said",{"id":["a"]}]', '["other",1]');
  const atUs = monotonicUs();
  const [row] = state.freeze([{ seq: 1, id: 'a', room: AUDIENCE, sentAtUs: atUs, intendedAtUs: atUs }]);
  send(WHOLE);

  assert.ok(row);
  const { expected, received, duplicates, wrongSize, early } = row;
  assert.deepEqual([expected, received, duplicates, wrongSize, early], [1, 1, 1, 1, 1]);
  const { received: readable, late, unreadable, neverOrdered, open } = state.ledger.totals();
  assert.deepEqual([late, unreadable, neverOrdered, open], [1, 2, 2, 1]);
  assert.equal(received + duplicates + wrongSize + late + neverOrdered + open, readable);
  assert.equal(state.sight({ watch: false, outside: [] }).example, '["said",{"name":"a"}]');
  assert.equal(fake.sink.all('ignored').length, 1);
});
