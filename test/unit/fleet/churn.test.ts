/** Tests connections that open and close for days. Broadcasts do not include closed ones. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CountSeries } from '../../../plugin/fleet/process/counts/count-series.ts';
import { addTimeSeries } from '../../../protocol/link/add-up.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';

const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;
const ROOM = 'capacity';

const NO_BROADCASTS = { count: 0, bytes: 1000 };

it('short-lived connections are members only while open, and are forgotten afterwards', (t) => {
  const process = new IdleProcess(t, { broadcasts: NO_BROADCASTS });
  const { ledger, acknowledgements, counts } = process.state;
  for (let id = 0; id < 100; id++) {
    const before = process.clients.at(-1);
    process.open(id, '/');
    process.run({ op: 'emit', id, namespace: '/', event: 'join_room', args: [ROOM] });
    const [, , ackId = 0] = process.client.sent[0] ?? [];
    process.client.sink.onAck('/', ackId, [{ room: ROOM, worker: 'w0' }]);
    if (before) process.drop(before);
    assert.deepEqual([counts.connected, acknowledgements.joined], [1, 1], 'a stranger reports no end');
    process.drop();
  }
  assert.equal(acknowledgements.joined, 0);
  assert.equal(ledger.members.of(ROOM), undefined);
});

it('connections are counted in intervals that grow with the run, without losing any', () => {
  const series = new CountSeries(0);
  for (let us = 0; us < 3 * DAY_US; us += SECOND_US) series.record(us);
  const { counts, intervalUs } = series.snapshot();
  assert.ok(counts.length <= 2 ** 16, `${counts.length} intervals`);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3 * 86_400,
  );
  assert.ok(counts.every((count) => Math.abs(count - intervalUs / SECOND_US) <= 1));
});

it('connection counts of several processes are added up, even with intervals of different length', () => {
  const long = { startedAtUs: 0, intervalUs: 40_000, counts: [1, 0, 2] };
  const short = { startedAtUs: 20_000, intervalUs: 20_000, counts: [4, 8, 16, 0, 32] };
  assert.deepEqual(addTimeSeries([long, short]), { startedAtUs: 0, intervalUs: 40_000, counts: [5, 24, 34] });
});
