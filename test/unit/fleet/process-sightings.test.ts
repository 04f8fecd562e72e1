import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { FINALIZED_ID, ProcessSightings } from '../../../plugin/fleet/process/ledger/process-sightings.ts';
import { column, columns } from '../../helpers/columns.ts';

const PLAN = { count: Number.MAX_SAFE_INTEGER, bytes: undefined, contentVaries: true };
const COPY = { hasSize: () => true, checksum: () => 0, sentAt: () => undefined, bytes: () => 10, otherIds: () => [] };

/** Returns the sightings of a fleet process with members of a room. The test delivers their copies. */
function processWith(members: number) {
  const ledger = new Ledger(PLAN);
  const sightings = new ProcessSightings(ledger);
  for (let slot = 0; slot < members; slot++) ledger.members.joined(slot, '', '', 0);
  const receive = (slot: number, id: string, atUs: number) => {
    const number = sightings.numberOf(id, atUs, COPY);
    if (number === FINALIZED_ID) ledger.receiveLate();
    else ledger.receive(slot, number, atUs, COPY);
  };
  const freeze = (id: string, sentAtUs: number) =>
    ledger.finalize({ seq: sightings.finalize(id, sentAtUs), room: '', sentAtUs, intendedAtUs: sentAtUs });
  return { ledger, sightings, receive, freeze };
}

test('broadcast ids seen before the count starts never count, nor do their later copies', () => {
  const { ledger, sightings, receive, freeze } = processWith(2);
  receive(0, 'before', 10);
  sightings.watch(true);
  receive(1, 'before', 20);
  receive(0, 'during', 30);
  receive(1, 'during', 40);
  sightings.watch(false);
  receive(0, 'after', 50);
  assert.deepEqual(columns(sightings.report().ids, 'id', 'counted', 'reached'), {
    id: ['before', 'during', 'after'],
    counted: [false, true, false],
    reached: [0, 2, 0],
  });
  const { expected, received } = freeze('during', 30);
  assert.deepEqual([expected, received], [2, 2]);
  const { unknownBroadcast, open, received: all } = ledger.totals();
  assert.deepEqual([unknownBroadcast, open, all], [3, 0, 5]);
});

test('a broadcast without receivers in this process is lost for its members, and a later copy is late', () => {
  const { ledger, sightings, receive, freeze } = processWith(3);
  sightings.watch(true);
  receive(0, 'a', 10);
  ledger.members.left(0, 20);
  receive(1, 'c', 30);
  ledger.members.left(1, 40);
  const { expected, lostConnected, lostDisconnected } = freeze('b', 15);
  assert.deepEqual([expected, lostConnected, lostDisconnected], [3, 2, 1]);
  receive(2, 'b', 50);
  assert.equal(ledger.totals().late, 1);
});

test('an id first received after the run’s last query counts as late, and unknown ids do not count', () => {
  const { ledger, sightings, receive, freeze } = processWith(2);
  sightings.watch(true);
  sightings.watch(false);
  receive(0, 'a', 10);
  const { expected, received, lostConnected } = freeze('a', 5);
  assert.deepEqual([expected, received, lostConnected], [2, 0, 2]);
  receive(1, 'a', 20);
  receive(1, 'another', 30);
  const { late, unknownBroadcast } = ledger.totals();
  assert.deepEqual([late, unknownBroadcast], [1, 2]);
});

test('the number of ledger rows is bounded, and ids beyond it are remembered as not counted', () => {
  const { ledger, sightings, receive } = processWith(1_000_000);
  sightings.watch(true);
  receive(0, 'id 0', 0);
  assert.equal(sightings.report().filled, 4_000_000 / 64 / 1024 ** 2, '64 MB, at 4 bytes for each connection');
  for (let n = 1; n < 40; n++) receive(0, `id ${n}`, n);
  const { ids, filled } = sightings.report();
  assert.deepEqual([ids.filter(({ counted }) => counted).length, filled], [17, 1]);
  assert.equal(ledger.totals().unknownBroadcast, 23);
  sightings.finalize('never seen', 0);
  assert.equal(sightings.report().filled, 1);
  sightings.finalize('id 0', 0);
  receive(0, 'one more', 100);
  assert.equal(sightings.report().ids.at(-1)?.counted, true);
});

test('a discarded id and its later copies do not count, but the id of a finalized broadcast stays known', () => {
  const { ledger, sightings, receive, freeze } = processWith(2);
  sightings.watch(true);
  for (const id of ['ours', 'theirs']) receive(0, id, 10);
  ledger.discard(sightings.discard('theirs'));
  assert.equal(freeze('ours', 5).received, 1);
  assert.deepEqual(sightings.report().ids, []);
  for (const id of ['ours', 'theirs']) receive(1, id, 20);
  assert.deepEqual(sightings.report().ids, []);
  const { late, unknownBroadcast, open, received } = ledger.totals();
  assert.deepEqual([late, unknownBroadcast, open, received], [1, 2, 0, 4]);
});

test('a broadcast that never arrived is ordered by time among the finalized ones', () => {
  const { ledger, sightings, receive, freeze } = processWith(2);
  sightings.watch(true);
  receive(0, 'a', 10);
  receive(1, 'a', 10);
  receive(1, 'c', 30);
  for (const slot of [0, 1]) ledger.members.left(slot, 40);
  freeze('a', 5);
  freeze('c', 25);
  const { lostConnected, lostDisconnected } = freeze('b', 20);
  assert.deepEqual([lostConnected, lostDisconnected], [1, 1]);
});

test('the memory for seen ids stays bounded while new ids arrive', () => {
  const { sightings } = processWith(1);
  for (let n = 0; n < 3000; n++) sightings.numberOf(`${n}`, n, COPY);
  assert.equal(sightings.report().ids.length, 1000);
  sightings.watch(true);
  for (let n = 0; n < 49_000; n++) sightings.numberOf(`more ${n}`, n, COPY);
  assert.equal(sightings.report().filled, 1, 'by rows of 1000 numbers or more');
  for (let n = 0; n < 101_000; n++) sightings.numberOf(`even more ${n}`, n, COPY);
  assert.equal(sightings.report().ids.length, 100_000);
  const decided = processWith(1).sightings;
  for (let n = 0; n <= 100_000; n++) decided.finalize(`${n}`, n);
  assert.equal(decided.numberOf('1', 0, COPY), FINALIZED_ID);
  assert.notEqual(decided.numberOf('0', 0, COPY), FINALIZED_ID, 'the oldest is forgotten');
});

test('a report has the room sizes at the start of the count, and other possible ids in first copies', () => {
  const { ledger, sightings } = processWith(2);
  ledger.members.joined(0, 'more', '', 0);
  const see = (id: string, bytes: number) =>
    sightings.numberOf(id, 1, { ...COPY, bytes: () => bytes, otherIds: () => [['path', `beside ${id}`]] });
  const idsBeside = () => sightings.report().others?.map(([, id]) => id);
  see('early', 10);
  assert.deepEqual([idsBeside(), sightings.report().rooms], [['beside early'], undefined]);
  sightings.watch(true);
  const { rooms } = sightings.report();
  assert.deepEqual(new Map(rooms), new Map(Object.entries({ '': 2, more: 1 })));
  sightings.watch(true);
  assert.equal(sightings.report().rooms, undefined, 'once');
  for (const [id, bytes] of [
    ['a', 64 * 1024],
    ['a', 10],
    ['long', 64 * 1024 + 1],
  ] as const)
    see(id, bytes);
  assert.deepEqual(idsBeside(), ['beside a']);
  for (let n = 0; n < 30; n++) see(`${n}`, 10);
  assert.equal(idsBeside()?.length, 20);
  sightings.watch(false);
  assert.equal(sightings.report().rooms, undefined);
  sightings.watch(true);
  assert.deepEqual(idsBeside(), []);
});

test('the report describes only the first copy without an id, as an example', () => {
  const { sightings } = processWith(1);
  sightings.unmatched(undefined);
  sightings.unmatched(() => 'first\u001b');
  sightings.unmatched(() => assert.fail());
  assert.equal(sightings.report().example, 'first\\u{1b}');
});

test('the send time of a broadcast is that of its first copy, if it is a number or a short text', () => {
  const { sightings } = processWith(1);
  const values = [12, '2026-01-01T00:00:00Z', 'x'.repeat(100), 'x'.repeat(101), { at: 1 }, null];
  for (const [index, value] of values.entries()) {
    for (let copy = 0; copy < 2; copy++) {
      sightings.numberOf(`id ${index}`, 1, { ...COPY, sentAt: () => (copy === 0 ? value : 'later') });
      sightings.numberOf('between', 1, COPY);
    }
  }
  const { ids } = sightings.report();
  const known = ids.filter(({ id }) => id !== 'between');
  assert.deepEqual(column(known, 'sentAt'), [...values.slice(0, 3), undefined, undefined, undefined]);
});
