import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Acknowledgements } from '../../../plugin/fleet/process/acknowledgements.ts';
import { ConnectionCounts } from '../../../plugin/fleet/process/counts/connection-counts.ts';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { absentSections } from '../../../plugin/result/absent.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { assertEach } from '../../helpers/columns.ts';
import { loneConnection } from '../../helpers/idle-process.ts';
import { frozenBroadcast, hookConfig, measurements, sent, snapshot } from '../../helpers/measurements.ts';

/** Returns the figures of broadcasts to ten receivers. `lastMs` is the time to the last receiver of each broadcast. */
function figures(lastMs: number[]) {
  const frozen = lastMs.map((last, index) =>
    frozenBroadcast(
      index + 1,
      Array.from({ length: 10 }, (_, receiver) => (last - 9 + receiver) * 1000),
    ),
  );
  return latencyFigures(measurements({ frozen }));
}

describe('six broadcasts', () => {
  const latency = figures([60, 20, 21, 22, 23, 24]);

  it('six broadcasts have a median and no other percentile, of copies and of broadcasts', () => {
    for (const summary of [latency.oneWayMs, latency.completionMs]) {
      const { p90, p95, p99, p999 } = summary ?? {};
      assert.deepEqual([p90, p95, p99, p999], [null, null, null, null]);
    }
    assert.deepEqual([latency.oneWayMs?.count, latency.completionMs?.max], [60, 60]);
  });

  it('the interval of the median of six broadcasts spans all of them', () => {
    const { p50, p99 } = latency.intervals?.completionMs ?? {};
    assert.deepEqual([p50?.low95, p50?.high95, p99], [20, 60, null]);
  });

  it('reports the first broadcast separately if it is far slower than the rest', () => {
    assert.deepEqual(latency.slowFirst, { seq: 1, lastMs: 60, othersP50Ms: 22, othersMaxMs: 24 });
    for (const [what, lastMs] of Object.entries({
      'not far above the others, whose quartiles are 20.5 and 23.5': [32.5, 20, 21, 22, 23, 24],
      'the slow one is not the first': [20, 60, 21, 22, 23, 24],
      'four more are too few': [60, 20, 20, 20, 20],
    })) {
      assert.equal(figures(lastMs).slowFirst, null, what);
    }
  });
});

it('a hundred broadcasts support p99, but no interval of it', () => {
  const { oneWayMs, intervals } = figures(Array.from({ length: 100 }, (_, index) => 20 + index));
  assert.deepEqual([typeof oneWayMs?.p99, oneWayMs?.p999, intervals?.oneWayMs.p99], ['number', null, null]);
  const { low95 = 0, high95 = 0 } = intervals?.completionMs.p50 ?? {};
  assert.ok(low95 > 55 && low95 < 69 && high95 > 70 && high95 < 84, `${low95} to ${high95}`);
});

/** Returns the row of a broadcast by w0 to two connections with these acknowledgements of the join. */
function joined(...answers: unknown[]) {
  const ledger = new Ledger();
  const counts = new ConnectionCounts();
  const acknowledgements = new Acknowledgements({ ledger: true }, { ledger, counts, answer: () => {} });
  for (const [slot, answer] of answers.entries()) {
    // Connection with a session id of a server without `instrument(io)`.
    const connection = loneConnection({ slot, open: true, worker: 'k3jf' });
    const join = { op: 'emit', id: slot, namespace: '/', event: 'join_room', args: ['capacity'] } as const;
    const ackId = acknowledgements.request(connection, { ...join, args: [...join.args] }) as number;
    acknowledgements.received(connection, ackId, [answer]);
    ledger.receive(slot, 1, 2_000_000 + slot * 1000);
  }
  // Send time that is after the joins, whose times are the current time.
  const sentAtUs = Number.MAX_SAFE_INTEGER;
  const row = {
    ...ledger.freeze({ seq: 1, room: 'capacity', worker: 'w0', sentAtUs, intendedAtUs: sentAtUs }),
    process: 0,
  };
  const measured = measurements({
    frozen: [row],
    sent: [sent(1, answers.length)],
    snapshots: [snapshot({ connected: answers.length, perWorker: counts.perWorker })],
  });
  return { latency: latencyFigures(measured), absent: absentSections(measured, hookConfig()) };
}

describe('latency across workers', () => {
  it('latency across workers is known if every join reports its worker', () => {
    const { latency, absent } = joined({ worker: 'w0' }, { worker: 'w1' });
    assert.deepEqual([latency.localMs?.count, latency.crossWorkerMs?.count, absent], [1, 1, {}]);
  });

  for (const answer of [undefined, null, 5, { worker: 5 }, { worker: 'x'.repeat(100_000) }]) {
    it(`latency across workers is unknown after an acknowledgement of ${JSON.stringify(answer)?.slice(0, 30)}`, () => {
      const { latency, absent } = joined({ worker: 'w0' }, answer);
      assert.deepEqual([latency.oneWayMs?.count, latency.localMs, latency.crossWorkerMs], [2, null, null]);
      assert.deepEqual(absent, {
        crossWorker: 'the server named no worker in its acknowledgement of `join_room` for 1 of 2 connections',
      });
      const { oneWayLocal = '', oneWayCrossWorker = '' } = latency.histograms;
      assertEach([oneWayLocal, oneWayCrossWorker], (one) => decodeHistogram(one).totalCount, [2, 0]);
    });
  }
});
