/** Every frame with an own event stands in one column: what the light client reads, as a fleet process counts it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionManager } from '../../../plugin/fleet/process/connections/connection-manager.ts';
import { ConnectSeries } from '../../../plugin/fleet/process/counts/connect-series.ts';
import { ConnectTimes } from '../../../plugin/fleet/process/counts/connect-times.ts';
import { OpenSeries } from '../../../plugin/fleet/process/counts/open-series.ts';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { Sightings } from '../../../plugin/fleet/process/ledger/sightings.ts';
import { RepeatedMessages } from '../../../plugin/fleet/process/messages/repeated-messages.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { AUDIENCE } from '../../../protocol/rooms.ts';
import { openConnection, text } from '../../helpers/fake-wire.ts';
import { fleetSettings } from '../../helpers/fleet.ts';

const WHOLE = '["said",{"id":"a"}]';
const PLAN = { event: 'said', id: ['0', 'id'], sentAt: undefined, bytes: WHOLE.length, join: undefined };

test('one frame of each kind stands in its column, and the columns add up', () => {
  const ledger = new Ledger({ count: Number.MAX_SAFE_INTEGER, bytes: PLAN.bytes, contentVaries: true });
  const sightings = new Sightings(ledger);
  const fake = openConnection({}, PLAN);
  const manager = new ConnectionManager({
    settings: { ...fleetSettings('http://127.0.0.1:1'), ownEvent: PLAN },
    share: { index: 0, of: 1 },
    firstId: 0,
    createClient: () => fake.connection,
    ledger,
    sightings,
    connectTimes: new ConnectTimes(),
    openSeries: new OpenSeries(0),
    connectSeries: new ConnectSeries(0),
    messages: new RepeatedMessages({ index: 0, of: 1 }),
    pacer: { add: () => {}, close: () => {} } as never,
    answer: () => {},
  });
  manager.run({ op: 'open', id: 1, requestId: 1, namespace: '/' });
  manager.reports.onOpen(fake.connection, '/', 'sid', { namespaceUs: 1 });
  assert.equal(manager.joined, 1, 'a connection is a member');
  fake.sink.onOwnEvent = manager.reports.onOwnEvent.bind(manager.reports);
  fake.sink.onUnreadable = manager.reports.onUnreadable.bind(manager.reports);
  const send = (...frames: string[]) => {
    for (const json of frames) fake.feed(text(`42${json}`));
  };

  send('["said",{"id":"x"}]');
  sightings.watch(true);
  send('["said",{"id":"x"}]', WHOLE, WHOLE, '["said",{"id":"a","more":1}]', '["said",{"id":"b"}]');
  send('["said",{"name":"a"}]', '["said",{"id":["a"]}]', '["other",1]');
  const atUs = monotonicUs();
  const row = ledger.freeze({
    ...{ seq: sightings.finalize('a', atUs), room: AUDIENCE },
    ...{ sentAtUs: atUs, intendedAtUs: atUs },
  });
  send(WHOLE);

  const { expected, received, duplicates, wrongSize, early } = row;
  assert.deepEqual([expected, received, duplicates, wrongSize, early], [1, 1, 1, 1, 1]);
  const { received: readable, late, unreadable, neverOrdered, open } = ledger.totals();
  assert.deepEqual([late, unreadable, neverOrdered, open], [1, 2, 2, 1]);
  assert.equal(received + duplicates + wrongSize + late + neverOrdered + open, readable);
  assert.equal(sightings.report().example, '["said",{"name":"a"}]');
  assert.equal(fake.sink.all('ignored').length, 1);
});
