/** Connections that come and go for days, where no broadcast asks for those that have left. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Series } from '../../../plugin/fleet/process/counts/series.ts';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { addSeries } from '../../../protocol/link/add-up.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';

const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;
const ROOM = 'capacity';

const NO_BROADCASTS = { count: 0, bytes: 1000 };

it('take the slots of those before them, whose clients are strangers from then on', (t) => {
  const process = new IdleProcess(t, { broadcasts: NO_BROADCASTS });
  for (let id = 0; id < 1000; id++) {
    const before = process.clients.at(-1);
    process.open(id, '/');
    assert.equal(process.client.slot, 0);
    if (before) process.drop(before);
    assert.equal(process.state.counts.connected, 1, 'a stranger reports no end');
    process.drop();
  }
});

it('are members only while they last', () => {
  const ledger = new Ledger(NO_BROADCASTS);
  assert.equal(ledger.remembers, false);
  for (let index = 0; index < 1000; index++) {
    ledger.members.joined(index % 10, ROOM, 'w0', index);
    ledger.members.joining(index % 10);
    ledger.members.left(index % 10, index);
    ledger.members.forget(index % 10);
  }
  assert.equal(ledger.members.slots, 10);
  const { expected, unexpected } = ledger.freeze({ seq: 1, room: ROOM, sentAtUs: 5000, intendedAtUs: 5000 });
  assert.deepEqual([expected, unexpected], [0, 0]);
});

it('stay in the ledger of a run with broadcasts, whose rows have them', () => {
  const ledger = new Ledger({ count: 1, bytes: undefined });
  ledger.members.joined(0, ROOM, 'w0', 100);
  ledger.members.left(0, 2000);
  const { expected, lostDisconnected } = ledger.freeze({ seq: 1, room: ROOM, sentAtUs: 1000, intendedAtUs: 1000 });
  assert.deepEqual([expected, lostDisconnected], [1, 1]);
});

it('are counted in intervals that become longer, and none is lost', () => {
  const series = new Series(0);
  for (let us = 0; us < 3 * DAY_US; us += SECOND_US) series.record(us);
  const { counts, intervalUs } = series.snapshot();
  assert.ok(counts.length <= 2 ** 16, `${counts.length} intervals`);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3 * 86_400,
  );
  assert.ok(counts.every((count) => Math.abs(count - intervalUs / SECOND_US) <= 1));
});

it('of processes with intervals of different length, too', () => {
  const long = { startedAtUs: 0, intervalUs: 40_000, counts: [1, 0, 2] };
  const short = { startedAtUs: 20_000, intervalUs: 20_000, counts: [4, 8, 16, 0, 32] };
  // 20 to 40 ms, 40 to 60, 60 to 80, and 100 to 120.
  assert.deepEqual(addSeries([long, short]), { startedAtUs: 0, intervalUs: 40_000, counts: [5, 24, 34] });
});
