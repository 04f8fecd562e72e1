/** Tests far more broadcasts than the ledgers have room for, with simulated time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { FINALIZED_ID, ProcessSightings } from '../../../plugin/fleet/process/ledger/process-sightings.ts';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { LedgerFinalizer } from '../../../plugin/run/broadcasts/finalizer.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event-measured.ts';
import { ALL_RECEIVERS_ROOM } from '../../../protocol/wire/rooms.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { snapshot } from '../../helpers/measurements.ts';

const PLAN = { count: Number.MAX_SAFE_INTEGER, bytes: undefined, contentVaries: true };
const COPY = { hasSize: () => true, checksum: () => 0, sentAt: () => undefined, bytes: () => 10, otherIds: () => [] };
const SECOND_US = 1e6;
/** Number of ledger rows in the memory. A row has 4,000 bytes, for 1,000 connections. */
const ROWS = 40;

/** Creates two processes with two connections each. Each process has room for 40 broadcasts. */
function load(givesIds: boolean) {
  const processes = [0, 1].map((index) => {
    const ledger = new Ledger(PLAN);
    for (const slot of [0, 1]) ledger.members.joined(slot, ALL_RECEIVERS_ROOM, '', -1);
    return { index, ledger, sightings: new ProcessSightings(ledger, ROWS * 4000) };
  });
  let nowUs = 0;
  const run = new FakeRun({ drain: { quiet: 1, deadline: 5 } });
  const { context, measurements } = run;
  run.arrive(4);
  Object.assign(context, { publishers: { givesIds } });
  let mostOpen = 0;
  let orders = 0;
  context.link.sight = async (watch, outside = []) =>
    processes.map(({ ledger, sightings }) => {
      sightings.watch(watch);
      for (const id of outside) ledger.discard(sightings.discard(id));
      mostOpen = Math.max(mostOpen, sightings.report().ids.length);
      return sightings.report();
    });
  context.link.freeze = async (all) => {
    orders += all.length;
    return processes.flatMap(({ index, ledger, sightings }) =>
      all.map((order) => ({
        process: index,
        ...ledger.finalize({ ...order, seq: sightings.finalize(order.id ?? '', order.sentAtUs) }),
        seq: order.seq,
      })),
    );
  };
  const all = (id: string) => {
    for (const connection of [0, 1, 2, 3]) receive(connection, id);
  };
  /** @param connection index of the connection, 0 to 3 */
  const receive = (connection: number, id: string) => {
    const { ledger, sightings } = processes[connection >> 1] as (typeof processes)[number];
    const number = sightings.numberOf(id, nowUs, COPY);
    if (number === FINALIZED_ID) ledger.receiveLate();
    else ledger.receive(connection & 1, number, nowUs, COPY);
  };
  const finalizer = () => new LedgerFinalizer(context, {}, new Map(), () => nowUs);
  const result = (finalizer: LedgerFinalizer) => {
    const { rows, basis, seen, skipped } = finalizer;
    measurements.ownEvent = {
      ...newOwnEvent('said', '$.0.id', 'run', givesIds),
      ...{ latencyFrom: basis.from, seen, skipped, each: rows.each },
    };
    Object.assign(measurements, { sent: rows.sent, frozen: rows.frozen });
    measurements.snapshots = processes.map(({ ledger }) => snapshot({ receipts: ledger.totals() }));
    return {
      delivery: deliveryFigures(measurements, batchRows(measurements), context.config),
      latency: latencyFigures(measurements),
    };
  };
  return {
    ...{ finalizer, receive, all, result },
    pass: (us: number) => {
      nowUs += us;
    },
    now: () => nowUs,
    mostOpen: () => mostOpen,
    /** Returns the number of finalized broadcasts so far. */
    orders: () => orders,
  };
}

test('finalizing 500 broadcasts in a ledger with 40 rows keeps all sums, and late copies stay late', async () => {
  const { finalizer: start, receive, pass, now, mostOpen, result } = load(true);
  const finalizer = start();
  await finalizer.poll();
  const count = 500;
  for (let seq = 1; seq <= count; seq++) {
    const id = `run-${seq}`;
    const times = { emittedAtUs: now(), intendedAtUs: now(), sentAt: 0 };
    finalizer.addPublished({ seq, id, room: ALL_RECEIVERS_ROOM, countedAs: id, ...times });
    pass(1000);
    // Every tenth broadcast misses a connection, and every hundredth broadcast reaches none.
    if (seq % 100 > 0)
      for (const connection of [0, 1, 2, 3]) if (connection < 3 || seq % 10 > 0) receive(connection, id);
    // Receives a broadcast of another program. Its rows use memory as well.
    receive(0, `theirs-${seq}`);
    if (seq > 100 && seq % 50 === 25) receive(3, `run-${seq - 100}`);
    pass(SECOND_US - 1000);
    await finalizer.poll();
  }
  pass(5 * SECOND_US);
  await finalizer.poll();
  await finalizer.finish();
  const { delivery, latency } = result(finalizer);
  assert.equal(finalizer.skipped, 0);
  assert.ok(mostOpen() < 20, `${mostOpen()} open`);
  const lost = { all: count / 100, one: count / 10 - count / 100 };
  const lostCopies = lost.all * 4 + lost.one;
  assert.deepEqual([delivery.broadcasts, delivery.expected], [count, count * 4]);
  assert.deepEqual([delivery.received, delivery.lostConnected], [count * 4 - lostCopies, lostCopies]);
  assert.deepEqual([delivery.late, delivery.outside], [count / 50 - 2, count]);
  assert.equal(delivery.frames, delivery.received + delivery.late + Number(delivery.outside));
  assert.equal(latency.oneWayMs?.count, delivery.received);
  assert.equal(latency.completionMs?.count, count - lost.all);
  assert.equal(latency.sendDelayMs?.count, count);
  assert.ok(Math.abs((latency.oneWayMs?.p50 ?? 0) - 1) < 0.01);
});

test('finalizes broadcasts with server-assigned ids oldest first, and only when the ledger fills up', async () => {
  const { finalizer: start, receive, all, pass, now, result, orders } = load(false);
  const finalizer = start();
  await finalizer.poll();
  for (let n = 0; n < 200; n++) {
    all(`tick ${n}`);
    pass(SECOND_US / 4);
    await finalizer.poll();
    if (n < ROWS / 4) assert.equal(orders(), 0);
  }
  finalizer.end(now());
  pass(1);
  receive(0, 'after the end');
  assert.ok(orders() >= 190, `${orders()}`);
  await finalizer.finish();
  const { delivery } = result(finalizer);
  assert.deepEqual([delivery.broadcasts, delivery.received, delivery.coverage], [200, 800, 1]);
  assert.deepEqual([delivery.outside, delivery.late, delivery.frames], [1, 0, 801]);
});

test('reports copies of broadcasts that found no row in a full ledger', async () => {
  const { finalizer: start, receive, pass, now, result } = load(false);
  const finalizer = start();
  await finalizer.poll();
  for (let n = 0; n < 100; n++) {
    receive(0, `tick ${n}`);
    pass(1000);
    await finalizer.poll();
  }
  finalizer.end(now());
  await finalizer.finish();
  assert.deepEqual([finalizer.seen, finalizer.skipped], [100, 60]);
  const { delivery } = result(finalizer);
  assert.deepEqual([delivery.broadcasts, delivery.received, delivery.outside], [40, 40, 60]);
});

test('finalizes a complete broadcast when no copy has arrived for the quiet time of the drain', async () => {
  const { finalizer: start, all, pass, orders } = load(false);
  const finalizer = start();
  await finalizer.poll();
  for (let n = 0; n < 20; n++) all(`tick ${n}`);
  const found: number[] = [];
  for (const us of [0, SECOND_US - 1, 1]) {
    pass(us);
    await finalizer.poll();
    found.push(orders());
  }
  // The room has 40 rows for 20 broadcasts. The 10 that exceed a quarter of the room are finalized.
  assert.deepEqual(found, [0, 0, 10]);
});
