/**
 * Tests that every frame with the counted event belongs to one column. Covers the way from the light client to the
 * counts of a fleet process.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { FleetSettings } from '../../../plugin/fleet/fleet-messages.ts';
import { CONTENT_CHECK_EVERY } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { ALL_RECEIVERS_ROOM } from '../../../protocol/wire/rooms.ts';
import { openConnection, text } from '../../helpers/fake-wire.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';

const ROOM = 'capacity';
const WHOLE = '["said",{"id":"a"}]';
const OWN = { event: 'said', id: ['0', 'id'], sentAt: undefined, bytes: WHOLE.length, join: undefined };
const ORDERED = { broadcasts: { count: 3, bytes: 4 } };

/** Returns a member whose frames a fleet process counts. */
function member(t: TestContext, settings: Partial<FleetSettings>) {
  const fake = openConnection({}, settings.ownEvent);
  const process = new IdleProcess(t, settings, (_options, sink) => Object.assign(fake.connection, { sink }));
  const { state } = process;
  process.open(1, '/');
  if (!settings.ownEvent) state.ledger.members.joined(0, ROOM, 'w0', 0);
  const send = (...frames: string[]) => {
    for (const json of frames) fake.feed(text(`42${json}`));
  };
  const freeze = (order: { seq: number; id?: string }) => {
    const atUs = settings.ownEvent ? monotonicUs() : 1;
    const room = settings.ownEvent ? ALL_RECEIVERS_ROOM : ROOM;
    const [row] = state.freeze([{ ...order, room, sentAtUs: atUs, intendedAtUs: atUs }]);
    assert.ok(row);
    return row;
  };
  return { state, send, freeze };
}

const broadcast = (seq: number, data = 'abcd') => `["broadcast",{"seq":${seq},"data":"${data}"}]`;

test('each kind of broadcast frame is counted in its own column, and the columns add up', (t) => {
  const { state, send, freeze } = member(t, ORDERED);
  send(broadcast(1), broadcast(1), broadcast(1, 'abc'), '["broadcast",{"seq":1}]', broadcast(4), broadcast(-1));
  send('["broadcast",{"seq":"1"}]', '["broadcast",7]', '["broadcast"]', '["other",1]');
  const { received, duplicates, wrongSize } = freeze({ seq: 1 });
  send(broadcast(1));
  assert.deepEqual([received, duplicates, wrongSize], [1, 1, 2]);
  const { late, unreadable, unknownBroadcast, received: readable } = state.ledger.totals();
  assert.deepEqual([late, unreadable, unknownBroadcast], [1, 3, 2]);
  assert.equal(received + duplicates + wrongSize + late + unknownBroadcast, readable);
});

test('each kind of frame of a user-defined event is counted in its own column, and the columns add up', (t) => {
  const { state, send, freeze } = member(t, { ownEvent: OWN });
  assert.equal(state.acknowledgements.joined, 1, 'a connection is a member');
  send('["said",{"id":"x"}]');
  state.sight({ watch: true, outside: [] });
  send('["said",{"id":"x"}]', WHOLE, WHOLE, '["said",{"id":"a","more":1}]', '["said",{"id":"b"}]');
  send('["said",{"name":"a"}]', '["said",{"id":["a"]}]', '["other",1]');
  const { expected, received, duplicates, wrongSize, early } = freeze({ seq: 1, id: 'a' });
  send(WHOLE);
  assert.deepEqual([expected, received, duplicates, wrongSize, early], [1, 1, 1, 1, 1]);
  const { received: readable, late, unreadable, unknownBroadcast, open } = state.ledger.totals();
  assert.deepEqual([late, unreadable, unknownBroadcast, open], [1, 2, 2, 1]);
  assert.equal(received + duplicates + wrongSize + late + unknownBroadcast + open, readable);
  assert.equal(state.sight({ watch: false, outside: [] }).example, '["said",{"name":"a"}]');
});

test('the ledger compares the content of one copy in `CONTENT_CHECK_EVERY` with the first copy', (t) => {
  const { send, freeze } = member(t, ORDERED);
  for (let copy = 1; copy <= 2 * CONTENT_CHECK_EVERY; copy++) send(broadcast(1, copy % 2 === 0 ? 'dcba' : 'abcd'));
  const { received, duplicates, wrongContent } = freeze({ seq: 1 });
  assert.deepEqual([received, duplicates, wrongContent], [1, 2 * CONTENT_CHECK_EVERY - 3, 2]);
});

test('the ledger separates copies received without a join request from copies during a pending join', (t) => {
  const { state, freeze } = member(t, ORDERED);
  state.ledger.members.joining(1);
  for (const slot of [0, 1, 2]) state.ledger.receive(slot, 1, 100);
  const { received, unexpected, notMember } = freeze({ seq: 1 });
  assert.deepEqual([received, unexpected, notMember], [1, 1, 1]);
});

test('a broadcast number that the run never requested has no row in the ledger', (t) => {
  const { ledger } = member(t, ORDERED).state;
  for (let seq = 4; seq < 10_000; seq++) ledger.receive(0, seq, 100);
  for (const seq of [2 ** 53, 1.5, 3]) ledger.receive(0, seq, 100);
  const { unknownBroadcast, open } = ledger.totals();
  assert.deepEqual([unknownBroadcast, open], [9998, 1]);
});
