import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import { thisMachine } from '../../../protocol/base/machine/this-host.ts';
import { column, columns } from '../../helpers/columns.ts';
import {
  encoded,
  frozenBroadcast,
  hookConfig,
  measurements,
  NO_RECEIPTS,
  sent,
  snapshot,
} from '../../helpers/measurements.ts';

type Changes = Parameters<typeof measurements>[0];

const latencyOf = (changes: Changes) => latencyFigures(measurements(changes));

function deliveryOf(changes: Changes, options: object = {}) {
  const measured = measurements(changes);
  return deliveryFigures(measured, batchRows(measured), hookConfig(options));
}

/** Row of a broadcast that two members lost. */
const LOST = { expected: 2, lostConnected: 2, firstUs: 0, lastUs: 0 };

test('reports broadcasts that missed the same connections separately from single lost copies', () => {
  /** Checksums of receivers in two processes, and the number of ten members that missed each broadcast. */
  const found = (...all: [receivers: number, missed: number][]) => {
    const frozen = all.flatMap(([receivers, missed], index) => [
      frozenBroadcast(index + 1, Array(10).fill(1000), { receivers: 5 }),
      frozenBroadcast(index + 1, Array(10 - missed).fill(1000), { receivers, expected: 10, lostConnected: missed }),
    ]);
    return deliveryOf({ sent: all.map((_, index) => sent(index + 1, 20)), frozen }).unreachedGroup;
  };
  assert.deepEqual(found([7, 2], [7, 2], [9, 0], [8, 1], [7, 2]), {
    ...{ broadcasts: 3, connections: 2, workers: [] },
    isLasting: false,
  });
  assert.equal(found([9, 0], [7, 2], [7, 2])?.isLasting, true, 'none from some point on');
  assert.equal(found([7, 2], [8, 2], [9, 2]), null);
  assert.equal(found([7, 0], [7, 0]), null);
});

test('lists the workers whose broadcasts never reached another worker', () => {
  const of = (senders: string[], perWorker: Record<string, number>) => {
    const all = senders.map((worker, index) => ({ ...sent(index + 1, 10), worker }));
    const frozen = senders.map((worker, index) => {
      const missed = worker === 'w1' ? 0 : 4;
      const times = Array(10 - missed).fill(1000);
      return frozenBroadcast(index + 1, times, { receivers: missed, expected: 10, lostConnected: missed });
    });
    const workersAtStart = Object.keys(perWorker).map((worker) => ({ worker }) as never);
    return deliveryOf({ sent: all, frozen, workersAtStart, snapshots: [snapshot({ perWorker })] }).unreachedGroup;
  };
  const inTurn = ['w0', 'w1', 'w2', 'w0', 'w1', 'w2'];
  assert.deepEqual(of(inTurn, { w0: 3, w1: 4, w2: 3 }), {
    ...{ broadcasts: 4, connections: 4, workers: ['w1'] },
    isLasting: false,
  });
  assert.deepEqual(of(inTurn, { w0: 2, w1: 6, w2: 2 })?.workers, [], 'only some of that worker');
});

describe('a broadcast', () => {
  const batchOf = (changes: Changes) => batchRows(measurements(changes))[0];

  it('times of a broadcast come from receivers of all processes, with percentiles only for enough receivers', () => {
    const frozen = [frozenBroadcast(1, [1000, 2000, 3000]), frozenBroadcast(1, [500, 9000])];
    const { firstMs, p50Ms, p99Ms, lastMs, sendDelayMs } = batchOf({ sent: [sent(1, 6)], frozen }) ?? {};
    assert.deepEqual([firstMs, Math.round(p50Ms ?? 0), p99Ms, lastMs, sendDelayMs], [0.5, 2, null, 9, 0.005]);
  });

  it('a broadcast is due at its intended time, whatever its latencies are measured from', () => {
    const frozen = [frozenBroadcast(1, [1000, 9000])];
    const due = (changes: object) => batchOf({ sent: [{ ...sent(1, 2), ...changes }], frozen })?.dueToLastMs;
    assert.equal(due({}), 9);
    assert.equal(due({ latencyFromAtUs: sent(1, 2).intendedAtUs + 2_000_000 }), 2009, 'stamped two seconds later');
    assert.equal(due({ sentAtUs: sent(1, 2).intendedAtUs - 500 }), 8.5);
    assert.equal(batchOf({ sent: [sent(1, 2)] })?.dueToLastMs, null);
  });

  it('no percentile of a broadcast exceeds its last receipt, and its time is on the clock of the samples', () => {
    const frozen = [frozenBroadcast(1, Array<number>(200).fill(123_457))];
    const { p50Ms, p99Ms, lastMs, t } = batchOf({ sent: [sent(1, 200)], frozen, samplesBeganAtUs: -5_000_000 }) ?? {};
    assert.deepEqual([p50Ms, p99Ms, lastMs, t], [123.457, 123.457, 123.457, 5.001]);
  });

  it('a broadcast has no times from a process without copies, and none at all if no connection received it', () => {
    for (const [latenciesUs, times, completed] of [
      [[[]], [null, null, null], undefined],
      [[[3000, 4000], []], [3, null, 4], 1],
    ] as const) {
      const frozen = latenciesUs.map((us) => frozenBroadcast(1, [...us], us.length > 0 ? {} : LOST));
      const measured = measurements({ sent: [sent(1, 5)], frozen });
      const [batch] = batchRows(measured);
      assert.deepEqual([batch?.firstMs, batch?.p99Ms, batch?.lastMs], times);
      assert.equal(latencyFigures(measured).completionMs?.count, completed);
    }
  });
});

describe('all broadcasts', () => {
  it('adds up all broadcasts over several fleet processes, in their order', () => {
    const total = deliveryOf({
      sent: [sent(2, 6), sent(1, 6)],
      frozen: [
        ...[frozenBroadcast(1, [1000, 2000, 3000]), frozenBroadcast(1, [500, 9000])],
        frozenBroadcast(2, [1000, 2000], { expected: 3, lostConnected: 1, duplicates: 2 }),
        frozenBroadcast(2, [4000], { expected: 2, lostDisconnected: 1, unexpected: 1 }),
      ],
    });
    const { expected, received, lostConnected, lostDisconnected, batches } = total;
    assert.deepEqual(columns(batches, 'seq', 'expected', 'serverMembers'), {
      ...{ seq: [1, 2], expected: [5, 5], serverMembers: [5, 5] },
    });
    assert.deepEqual([expected, received, lostConnected, lostDisconnected], [10, 8, 1, 1]);
    assert.deepEqual([total.duplicates, total.unexpected, total.coverage], [2, 1, 0.8]);
  });

  it('broadcasts are complete at the last receiver of all processes, with their send delay', () => {
    const { completionMs, sendDelayMs } = latencyOf({
      sent: [sent(1, 5), { ...sent(2, 5), sentAtUs: 2000 + 4000 }],
      frozen: [frozenBroadcast(1, [1000, 8000]), frozenBroadcast(1, [2000]), frozenBroadcast(2, [20_000])],
    });
    assert.deepEqual([completionMs?.count, Math.round(completionMs?.min ?? 0), completionMs?.max], [2, 8, 20]);
    assert.deepEqual([sendDelayMs?.count, sendDelayMs?.max], [2, 4]);
  });

  it('reports latency separately for receivers on the publishing worker and on other workers', () => {
    const latencyUs = { local: encoded([1000, 2000]), cross: encoded([30_000]) };
    const { oneWayMs, localMs, crossWorkerMs } = latencyOf({ frozen: [frozenBroadcast(1, [1], { latencyUs })] });
    assert.deepEqual([oneWayMs?.count, localMs?.count, crossWorkerMs?.count], [3, 2, 1]);
    assert.equal(Math.round(crossWorkerMs?.p50 ?? 0), 30);
  });

  it('computes latencies of broadcasts as half of their round trips', () => {
    const { single, underLoad } = latencyOf({
      roundTripsUs: { single: [2000, 4001], underLoad: [10_000] },
    }).roundTripHalfMs;
    assert.deepEqual([single?.count, underLoad?.count, Math.round(underLoad?.p50 ?? 0)], [2, 1, 5]);
  });

  it('lists clock offsets at the times of the broadcasts, with the drift between first and last', () => {
    const [remote, same] = [new ClockLine(false), new ClockLine(true)];
    const [offsetsUs, uncertaintiesUs] = [
      [0, 100.4, 200.4, 300.4, 2400.4],
      [900, 7, 9.2, 9.2, 9.2],
    ];
    for (const [index, offsetUs] of offsetsUs.entries()) {
      remote.add({ atUs: index * 1e7, offsetUs, uncertaintyUs: uncertaintiesUs[index] ?? 0 });
    }
    const clocks = [remote, same];
    assert.deepEqual(latencyOf({ clocks }).clocks, [], 'not read so far');
    same.add({ atUs: 0, offsetUs: 5, uncertaintyUs: 3 });
    const workersAtStart = [{ worker: 'w0', pid: 1, instance: 'a' }];
    const all = [10.5, 20, 25].map((seconds) => ({ ...sent(1, 3), sentAtUs: seconds * 1e6 }));
    assert.deepEqual(latencyOf({ workersAtStart, clocks, sent: all }).clocks, [
      { worker: 'w0', offsetUs: 105, uncertaintyUs: 10, driftUs: 145, jumpUs: 0 },
      { worker: '1', offsetUs: 0, uncertaintyUs: 0, driftUs: 0, jumpUs: 0 },
    ]);
  });

  it('widens the intervals of latencies by the clock uncertainty', () => {
    const frozen = Array.from({ length: 10 }, (_, index) => frozenBroadcast(index + 1, [1000 + 100 * index]));
    const line = new ClockLine(false);
    line.add({ atUs: 0, offsetUs: 1e9, uncertaintyUs: 200 });
    const own = { cores: 2, memoryLimitBytes: null, machine: thisMachine(), kernel: 'k' };
    const host = { ...own, arrivals: 1, beganAtUs: 0, lost: undefined, cpuIdlePercent: {}, shares: {} };
    const hosts = [{ ...host, host: 'a', clock: { offsetUs: 0, boundUs: 300 } }];
    const known = latencyOf({ frozen }).intervals?.completionMs.p50;
    const onSeparateHosts = latencyOf({ frozen, clocks: [line], hosts }).intervals?.completionMs.p50;
    assert.ok(known && onSeparateHosts);
    const wider = [known.low95 - onSeparateHosts.low95, onSeparateHosts.high95 - known.high95].map((ms) =>
      ms.toFixed(3),
    );
    assert.deepEqual(wider, ['0.500', '0.500']);
  });
});

test('a broadcast to one of many rooms is expected at the members of that room', () => {
  const toRoom = (seq: number, room: number) => ({ ...sent(seq, 0), room: `capacity:${room}` });
  const measured = {
    ...{ expectedAtOnce: 3, receiversRoom: 'capacity:0', sent: [toRoom(1, 0), toRoom(2, 1)] },
    frozen: [frozenBroadcast(1, [1000]), frozenBroadcast(2, [], { expected: 0, received: 0 })],
  };
  const { coverageOfTarget, rooms, batches } = deliveryOf(measured, { rooms: { count: 3 } });
  assert.equal(coverageOfTarget, 1 / 2);
  assert.deepEqual(rooms, { count: 3, perConnection: 1, order: 'turn', seed: 1, reached: 2 });
  assert.deepEqual(column(batches, 'room'), ['capacity:0', 'capacity:1']);
});

describe('the reference receiver', () => {
  /** Returns a reference receiver on w0 that gets each broadcast 5 ms after its send. */
  const receiverOf = (seqs: number[], changes: object = {}) => ({
    ...{ worker: 'w0', joinedAtUs: 1, leftAtUs: undefined },
    receivedAtUs: new Map(seqs.map((seq) => [seq, sent(seq, 0).sentAtUs + 5000])),
    ...changes,
  });
  // Broadcast 1 was published by the receiver's worker, and the p99 of other receivers is 3 ms later. Broadcast 2 was
  // published by another worker. Broadcast 3 was published by the receiver's worker, and the receiver is the last.
  const broadcasts = {
    sent: [sent(1, 4), { ...sent(2, 4), worker: 'w1' }, sent(3, 4)],
    frozen: [frozenBroadcast(1, [2000, 8000]), frozenBroadcast(2, [9000, 9000]), frozenBroadcast(3, [1000, 2000])],
  };
  const figures = (changes: object) => latencyOf({ ...broadcasts, ...changes });

  it('the reference receiver is compared with others only for broadcasts of its own worker', () => {
    const { sentinelMs, behindSentinelMs } = figures({ sentinel: receiverOf([1, 2, 3]) });
    assert.deepEqual([sentinelMs?.count, Math.round(sentinelMs?.p50 ?? 0)], [3, 5]);
    const { count, min, max } = behindSentinelMs ?? {};
    assert.deepEqual([count, min, Math.round(max ?? 0)], [2, 0, 3]);
    const missed = figures({ sentinel: receiverOf([2, 3]) });
    assert.deepEqual([missed.sentinelMs?.count, missed.behindSentinelMs?.count], [2, 1]);
  });

  it('the reference receiver has no lag if its worker has no other receivers', () => {
    const latencyUs = { local: encoded([]), cross: encoded([9000]) };
    const frozen = [frozenBroadcast(1, [9000], { latencyUs })];
    const { sentinelMs, behindSentinelMs } = figures({ frozen, sentinel: receiverOf([1]) });
    assert.deepEqual([sentinelMs?.count, behindSentinelMs], [1, null]);
    const without = figures({});
    assert.deepEqual([without.sentinelMs, without.behindSentinelMs], [null, null]);
  });

  it("subtracts the reference receiver from the server's count from its join until it leaves", () => {
    const members = (changes: object) =>
      column(batchRows(measurements({ ...broadcasts, sentinel: receiverOf([], changes) })), 'serverMembers');
    assert.deepEqual(members({}), [2, 2, 2], 'of 4, without the probe');
    const { sentAtUs } = sent(2, 4);
    assert.deepEqual(members({ leftAtUs: sentAtUs }), [2, 2, 3]);
    assert.deepEqual(members({ leftAtUs: sentAtUs - 1 }), [2, 3, 3]);
    assert.deepEqual(members({ joinedAtUs: sentAtUs }), [3, 3, 2]);
    assert.deepEqual(members({ joinedAtUs: sentAtUs - 1 }), [3, 2, 2]);
  });
});

it('copies in unfinished ledger rows count as unrequested only if the run finalized its broadcasts', () => {
  const snapshots = [snapshot({ receipts: { ...NO_RECEIPTS, unknownBroadcast: 2, open: 5 } })];
  assert.equal(deliveryOf({ snapshots }).unknownBroadcast, 2);
  assert.equal(deliveryOf({ snapshots, frozen: [frozenBroadcast(1, [1000])] }).unknownBroadcast, 7);
});
