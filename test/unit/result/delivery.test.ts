import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { ClockLine } from '../../../protocol/clock/clock-line.ts';
import { column } from '../../helpers/columns.ts';
import {
  encoded,
  frozenBroadcast,
  hookConfig,
  measurements,
  NO_RECEIPTS,
  sent,
  snapshot,
} from '../../helpers/measurements.ts';

describe('a broadcast', () => {
  it('has the times of the receivers of all processes', () => {
    const [batch] = batchRows(
      measurements({
        sent: [sent(1, 6)],
        frozen: [frozenBroadcast(1, [1000, 2000, 3000]), frozenBroadcast(1, [500, 9000])],
      }),
    );
    const { firstMs, p50Ms, p99Ms, lastMs } = batch ?? {};
    assert.deepEqual([firstMs, Math.round(p50Ms ?? 0), p99Ms, lastMs], [0.5, 2, null, 9], 'of five, p99 is the last');
  });

  it('is due when it was meant to be sent, whatever its latencies count from', () => {
    const due = (changes: object) => {
      const frozen = [frozenBroadcast(1, [1000, 9000])];
      return batchRows(measurements({ sent: [{ ...sent(1, 2), ...changes }], frozen }))[0]?.dueToLastMs;
    };
    assert.equal(due({}), 9);
    assert.equal(due({ latencyFromAtUs: sent(1, 2).intendedAtUs + 2_000_000 }), 2009, 'stamped two seconds later');
    assert.equal(due({ sentAtUs: sent(1, 2).intendedAtUs - 500 }), 8.5);
    assert.equal(batchRows(measurements({ sent: [sent(1, 2)] }))[0]?.dueToLastMs, null);
  });

  it('has no percentile above its last receipt, and its time is that of the samples', () => {
    const latencies = Array.from({ length: 200 }, () => 123_457);
    const [batch] = batchRows(
      measurements({ sent: [sent(1, 200)], frozen: [frozenBroadcast(1, latencies)], samplesBeganAtUs: -5_000_000 }),
    );
    assert.deepEqual([batch?.p50Ms, batch?.p99Ms, batch?.lastMs], [123.457, 123.457, 123.457]);
    assert.equal(batch?.t, (sent(1, 200).intendedAtUs + 5_000_000) / 1e6);
  });

  it('that nobody got has no times', () => {
    const lost = { expected: 2, lostConnected: 2, firstUs: 0, lastUs: 0 };
    const measured = measurements({ sent: [sent(1, 3)], frozen: [frozenBroadcast(1, [], lost)] });
    const { firstMs, p50Ms, p99Ms, lastMs } = batchRows(measured)[0] ?? {};
    assert.deepEqual([firstMs, p50Ms, p99Ms, lastMs], [null, null, null, null]);
    assert.equal(latencyFigures(measured).completionMs, null);
  });

  it('has no times of a process that got nothing', () => {
    const lost = { expected: 2, lostConnected: 2, firstUs: 0, lastUs: 0 };
    const measured = measurements({
      sent: [sent(1, 5)],
      frozen: [frozenBroadcast(1, [3000, 4000]), frozenBroadcast(1, [], lost)],
    });
    const { expected, received, firstMs, lastMs } = batchRows(measured)[0] ?? {};
    assert.deepEqual([expected, received, firstMs, lastMs], [4, 2, 3, 4]);
    assert.equal(latencyFigures(measured).completionMs?.count, 1);
  });

  it('that no process has in its ledger stands beside the members that the server counted', () => {
    const [batch] = batchRows(measurements({ sent: [sent(1, 5)], frozen: [frozenBroadcast(2, [1000])] }));
    assert.deepEqual([batch?.serverMembers, batch?.expected, batch?.received], [4, 0, 0]);
  });
});

describe('all broadcasts', () => {
  it('count what came late, over all engines', () => {
    const late = (count: number) => snapshot({ receipts: { ...NO_RECEIPTS, late: count } });
    assert.equal(deliveryFigures(measurements({ snapshots: [late(2), late(3)] }), [], hookConfig()).late, 5);
  });

  it('are complete with the last receiver of all processes, and late by their send delay', () => {
    const measured = measurements({
      sent: [sent(1, 5), { ...sent(2, 5), sentAtUs: 2000 + 4000 }],
      frozen: [frozenBroadcast(1, [1000, 8000]), frozenBroadcast(1, [2000]), frozenBroadcast(2, [20_000])],
    });
    const { completionMs, sendDelayMs } = latencyFigures(measured);
    assert.deepEqual([completionMs?.count, Math.round(completionMs?.min ?? 0), completionMs?.max], [2, 8, 20]);
    assert.deepEqual([sendDelayMs?.count, sendDelayMs?.max], [2, 4]);
  });

  it('keep receivers on the publishing worker apart from the others', () => {
    const latencyUs = { local: encoded([1000, 2000]), cross: encoded([30_000]) };
    const { oneWayMs, localMs, crossWorkerMs } = latencyFigures(
      measurements({ frozen: [frozenBroadcast(1, [1], { latencyUs })] }),
    );
    assert.deepEqual([oneWayMs?.count, localMs?.count, crossWorkerMs?.count], [3, 2, 1]);
    assert.equal(Math.round(crossWorkerMs?.p50 ?? 0), 30);
  });

  it('have round trips halved', () => {
    const { roundTripHalfMs } = latencyFigures(
      measurements({ roundTripsUs: { single: [2000, 4001], underLoad: [10_000] } }),
    );
    assert.deepEqual([roundTripHalfMs.single?.count, roundTripHalfMs.underLoad?.count], [2, 1]);
    assert.equal(Math.round(roundTripHalfMs.underLoad?.p50 ?? 0), 5);
  });

  it('have clocks at the times of the broadcasts, with the drift between the first and the last', () => {
    const [remote, same] = [new ClockLine(false), new ClockLine(true)];
    for (const [seconds, offsetUs, uncertaintyUs] of [
      [0, 0, 900],
      [10, 100.4, 7],
      [20, 200.4, 9.2],
      [30, 300.4, 9.2],
      [40, 2400.4, 9.2],
    ] as const) {
      remote.add({ atUs: seconds * 1e6, offsetUs, uncertaintyUs });
    }
    assert.deepEqual(latencyFigures(measurements({ clocks: [remote, same] })).clocks, [], 'not read so far');
    same.add({ atUs: 0, offsetUs: 5, uncertaintyUs: 3 });
    const at = (seconds: number) => ({ ...sent(1, 3), sentAtUs: seconds * 1e6 });
    const { clocks } = latencyFigures(
      measurements({
        workersAtStart: [{ worker: 'w0', pid: 1, instance: 'a' }],
        clocks: [remote, same],
        sent: [at(10.5), at(20), at(25)],
      }),
    );
    assert.deepEqual(clocks, [
      { worker: 'w0', offsetUs: 105, uncertaintyUs: 10, driftUs: 145, jumpUs: 0 },
      { worker: '1', offsetUs: 0, uncertaintyUs: 0, driftUs: 0, jumpUs: 0 },
    ]);
  });

  it('have intervals that are as much wider as the clocks may be wrong', () => {
    const frozen = Array.from({ length: 10 }, (_, index) => frozenBroadcast(index + 1, [1000 + 100 * index]));
    const line = new ClockLine(false);
    line.add({ atUs: 0, offsetUs: 1e9, uncertaintyUs: 200 });
    const host = { cores: 2, arrivals: 1, beganAtUs: 0, lost: undefined, cpuIdlePercent: {}, shares: {}, kernel: 'k' };
    const hosts = [{ ...host, host: 'a', clock: { offsetUs: 0, boundUs: 300 } }];
    const known = latencyFigures(measurements({ frozen })).intervals?.completionMs.p50;
    const apart = latencyFigures(measurements({ frozen, clocks: [line], hosts })).intervals?.completionMs.p50;
    assert.ok(known && apart);
    assert.deepEqual(
      [apart.low95, apart.high95].map((ms) => Math.round(ms * 1000)),
      [known.low95 - 0.5, known.high95 + 0.5].map((ms) => Math.round(ms * 1000)),
    );
  });
});

test('of broadcasts to many rooms, the target of each is the members of its own', () => {
  const config = hookConfig({ rooms: { count: 3 } });
  const toRoom = (seq: number, room: number) => ({ ...sent(seq, 0), room: `capacity:${room}` });
  const found = measurements({
    expectedAtOnce: 3,
    receiversRoom: 'capacity:0',
    sent: [toRoom(1, 0), toRoom(2, 1)],
    frozen: [frozenBroadcast(1, [1000]), frozenBroadcast(2, [], { expected: 0, received: 0 })],
  });
  const { coverageOfTarget, rooms, batches } = deliveryFigures(found, batchRows(found), config);
  assert.equal(coverageOfTarget, 1 / 2);
  assert.deepEqual(rooms, { count: 3, perConnection: 1, order: 'turn', seed: 1, reached: 2 });
  assert.deepEqual(column(batches, 'room'), ['capacity:0', 'capacity:1']);
});

describe('the sentinel', () => {
  const seen = (receivedAtUs: [number, number][]) => ({
    worker: 'w0',
    joinedAtUs: 1,
    leftAtUs: undefined,
    receivedAtUs: new Map(receivedAtUs),
  });

  it('has no latency of a broadcast that it did not get', () => {
    const figures = latencyFigures(
      measurements({
        sent: [sent(1, 3), sent(2, 3)],
        frozen: [frozenBroadcast(1, [100]), frozenBroadcast(2, [100])],
        sentinel: seen([[2, 2500]]),
      }),
    );
    assert.deepEqual([figures.sentinelMs?.count, figures.sentinelMs?.max], [1, 0.5]);
    assert.equal(figures.behindSentinelMs?.count, 1);
  });

  it('is a member from its join on, and still at the moment in which it leaves', () => {
    const members = (changes: object) =>
      batchRows(measurements({ sent: [sent(1, 3)], sentinel: { ...seen([]), ...changes } }))[0]?.serverMembers;
    const { sentAtUs } = sent(1, 3);
    assert.deepEqual([members({ joinedAtUs: sentAtUs - 1 }), members({ joinedAtUs: sentAtUs })], [1, 2]);
    assert.deepEqual([members({ leftAtUs: sentAtUs }), members({ leftAtUs: sentAtUs - 1 })], [1, 2]);
  });

  it('is compared with nobody where its worker has no receivers of ours', () => {
    const latencyUs = { local: encoded([]), cross: encoded([9000]) };
    const figures = latencyFigures(
      measurements({
        sent: [sent(1, 3)],
        frozen: [frozenBroadcast(1, [9000], { latencyUs })],
        sentinel: seen([[1, 1500]]),
      }),
    );
    assert.equal(figures.sentinelMs?.count, 1);
    assert.equal(figures.behindSentinelMs, null);
  });
});

it('counts copies of open rows as never ordered only where the run has finalized its own', () => {
  const snapshots = [snapshot({ receipts: { ...NO_RECEIPTS, neverOrdered: 2, open: 5 } })];
  const neverOrdered = (frozen: ReturnType<typeof frozenBroadcast>[]) => {
    const measured = measurements({ snapshots, frozen });
    return deliveryFigures(measured, batchRows(measured), hookConfig()).neverOrdered;
  };
  assert.deepEqual([neverOrdered([]), neverOrdered([frozenBroadcast(1, [1000])])], [2, 7]);
});
