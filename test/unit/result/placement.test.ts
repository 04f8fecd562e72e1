/** Whether latencies within a worker and across workers can be told apart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Acknowledgements } from '../../../plugin/fleet/process/acknowledgements.ts';
import { Connection } from '../../../plugin/fleet/process/connections/connection.ts';
import { Counts } from '../../../plugin/fleet/process/counts/counts.ts';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { absentSections } from '../../../plugin/result/absent.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { decodeHistogram } from '../../../protocol/histogram.ts';
import { assertEach } from '../../helpers/columns.ts';
import { measurements, sent, snapshot } from '../../helpers/measurements.ts';

/** Two connections whose joins get these answers, and a broadcast of w0 that reaches both. */
function joined(...answers: unknown[]) {
  const ledger = new Ledger();
  const counts = new Counts();
  const acknowledgements = new Acknowledgements({ ledger: true }, { ledger, counts, answer: () => {} });
  for (const [slot, answer] of answers.entries()) {
    const client = { slot } as Parameters<Acknowledgements['request']>[0];
    // A session id of a server that is not ours.
    const connection = Object.assign(new Connection(slot, false), { open: true, worker: 'k3jf' });
    const join = { op: 'emit', id: slot, namespace: '/', event: 'join_room', args: ['capacity'] } as const;
    const ackId = acknowledgements.request(client, { ...join, args: [...join.args] }) as number;
    acknowledgements.received(client, connection, ackId, [answer]);
    ledger.receive(slot, 1, 2_000_000 + slot * 1000);
  }
  // After the joins, whose times are those of now.
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
  return { latency: latencyFigures(measured), absent: absentSections(measured) };
}

describe('latency across workers', () => {
  it('is known where every join names its worker', () => {
    const { latency, absent } = joined({ worker: 'w0' }, { worker: 'w1' });
    assert.deepEqual([latency.localMs?.count, latency.crossWorkerMs?.count, absent], [1, 1, {}]);
  });

  for (const answer of [undefined, null, 5, { worker: 5 }, { worker: 'x'.repeat(100_000) }]) {
    it(`is not known after an acknowledgement of ${JSON.stringify(answer)?.slice(0, 30)}`, () => {
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
