import assert from 'node:assert/strict';
import { it, type TestContext, test } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { LedgerRows } from '../../../plugin/run/broadcasts/ledger-rows.ts';
import { ownEventBroadcasts } from '../../../plugin/run/broadcasts/own-event.ts';
import { measureBroadcasts } from '../../../plugin/run/broadcasts/window.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event-measured.ts';
import type { OwnEventDelivery } from '../../../plugin/script/settings.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { assertEach, columns } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { frozenBroadcast, hookConfig, measurements } from '../../helpers/measurements.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Events that the server or the publishers send from the start of the window. */
type Happens = (run: FakeRun, time: VirtualTime) => RunContext['publishers'];

/**
 * Measures with a room of ten members.
 * @returns units and seconds of each part
 */
async function partsOf(t: TestContext, happens: Happens, delivery: object, drain = { quiet: 1, deadline: 2 }) {
  const time = new VirtualTime(t);
  const run = new FakeRun({ drain });
  run.arrive(10);
  const context = { ...run.context, publishers: happens(run, time) };
  const options = { event: 'tick', id: ['id'], ...delivery } as unknown as OwnEventDelivery;
  await time.until(measureBroadcasts(context, ownEventBroadcasts(context, options), () => {}));
  return run.measurements.cpu.broadcasts.map(({ units, seconds }) => [units, Math.round(seconds)]);
}

it('each part of the broadcast window begins with a broadcast of the publishers', async (t) => {
  const publishing: Happens = ({ status }) => ({
    ...{
      connected: 1,
      clients: [],
      givesIds: true,
      givesRooms: false,
      publishTrial: () => undefined,
      acknowledged: [],
      ackErrors: {},
      prefix: 'run-',
      unacknowledged: { asked: 0, missing: 0, isExpected: false },
    },
    publish: async (onSent) => {
      for (let seq = 1; seq <= 5; seq++) {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        const times = { emittedAtUs: 1, intendedAtUs: 1, sentAt: 1 };
        onSent({ seq, id: `${seq}`, room: '', countedAs: `${seq}`, ...times });
        setTimeout(() => (status.received += 10), 500);
      }
    },
  });
  const parts = await partsOf(t, publishing, { publish: { count: 5 }, seconds: 10 });
  assertEach(parts, (part) => part, [[10, 4], ...Array(4).fill([10, 2])]);
});

/** @returns the number of copies by time; the tenth copy arrives at `lastMs` */
const lastAt = (lastMs: number) => (ms: number) => (ms < lastMs ? 9 : 10);

/** Copies of a broadcast by the server, by milliseconds after the window, and the expected length of the drain. */
const DRAINS: [what: string, reachedAt: (ms: number) => number, drainSeconds: number][] = [
  ['quiet time after the last copy, if all have arrived', lastAt(0), 3],
  ['quiet time after a late last copy', lastAt(4000), 7],
  ['the deadline of the drain, if a copy never arrives', lastAt(Number.POSITIVE_INFINITY), 12],
  [
    'longer than the deadline of the drain while copies arrive',
    (ms) => Math.min(10, Math.max(0, Math.floor(ms / 4000))),
    43,
  ],
];
for (const [what, reachedAt, drainSeconds] of DRAINS) {
  it(`the last part of the broadcast window includes the drain: ${what}`, async (t) => {
    const broadcasting: Happens = ({ context }, time) => {
      const firstAtUs = monotonicUs() + 1;
      context.link.sight = async () => {
        const reached = reachedAt(time.nowMs - 10_000);
        const seen = { id: 'a', firstAtUs, sentAt: undefined, bytes: 5, reached, counted: true };
        return [{ ids: [seen], filled: 0, example: undefined }] as never;
      };
      return undefined;
    };
    const parts = await partsOf(t, broadcasting, { seconds: 10 }, { quiet: 3, deadline: 12 });
    assertEach(parts, ([, seconds]) => seconds, [...Array(9).fill(1), 1 + drainSeconds]);
  });
}

/**
 * Broadcast n reaches two connections of one process after n and n + 1 ms. It reaches no connection of the other
 * process.
 */
function pages(seq: number) {
  const lost = { process: 1, expected: 1, received: 0, lostConnected: 1, firstUs: 0, lastUs: 0 };
  return [frozenBroadcast(seq, [seq * 1000, seq * 1000 + 1000]), frozenBroadcast(seq, [], lost)];
}

test('merging several broadcasts into one ledger row changes no sum', () => {
  const rows = new LedgerRows(4);
  const count = 19;
  for (let seq = 1; seq <= count; seq++) {
    rows.add([{ seq, room: '', sentAtUs: seq * 10, intendedAtUs: seq * 10 - 5 }], pages(seq));
  }
  const measured = measurements({
    ownEvent: { ...newOwnEvent('said', '$.0', 'run', true), each: rows.each },
    sent: rows.sent,
    frozen: rows.frozen,
  });
  const delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
  assert.deepEqual(columns(delivery.batches, 'seq', 'broadcasts', 'expected', 'received'), {
    seq: [1, 9, 17],
    broadcasts: [8, 8, 3],
    expected: [24, 24, 9],
    received: [16, 16, 6],
  });
  const [first] = delivery.batches;
  assert.deepEqual([first?.firstMs, Math.round(first?.lastMs ?? 0), first?.sendDelayMs], [1, 9, 0.005]);
  assert.deepEqual([delivery.broadcasts, delivery.received, delivery.lostConnected], [count, count * 2, count]);
  const { oneWayMs, completionMs, sendDelayMs } = latencyFigures(measured);
  assert.deepEqual([oneWayMs?.count, completionMs?.count, sendDelayMs?.count], [count * 2, count, count]);
  assert.equal(Math.round(completionMs?.p50 ?? 0), 11, 'of each broadcast, not of each row');
});

test('a broadcast without a time has receipts but no latency, and no receipts if no process reports it', () => {
  const rows = new LedgerRows();
  const orders = [1, 2].map((seq) => ({ seq, room: '', sentAtUs: 0, intendedAtUs: 0 }));
  rows.add(orders, [frozenBroadcast(1, [], { untimed: true, expected: 2, received: 2, firstUs: 0, lastUs: 0 })]);
  const measured = measurements({ sent: rows.sent, frozen: rows.frozen });
  const [untimed, unreported] = batchRows(measured);
  assert.deepEqual([untimed?.received, untimed?.firstMs, untimed?.p50Ms], [2, null, null]);
  assert.deepEqual([unreported?.expected, unreported?.lastMs], [0, null]);
  assert.equal(rows.each.completionUs.totalCount, 0);
});
