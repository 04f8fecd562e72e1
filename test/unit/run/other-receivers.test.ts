/** The run's own receivers in the server's count of the members. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endedMeanwhile } from '../../../plugin/run/receivers/other-receivers.ts';

const RECEIVERS_ROOM = 'capacity';
/** Ordered at 100, sent at 300. */
const BROADCAST = { expected: 10, room: RECEIVERS_ROOM, orderedAtUs: 100, sentAtUs: 300 };

function ended(probe: { leftAtUs?: number; receivedAtUs?: number }, sentinelLeftAtUs?: number, broadcast = BROADCAST) {
  return endedMeanwhile(broadcast, {
    receiversRoom: RECEIVERS_ROOM,
    probeLeftAtUs: probe.leftAtUs,
    probeReceivedAtUs: probe.receivedAtUs,
    sentinel: {
      ...{ worker: 'w0', joinedAtUs: 1, leftAtUs: sentinelLeftAtUs },
      receivedAtUs: new Map([
        [1, 50],
        [2, 301],
      ]),
    },
  });
}

describe("one of the run's own receivers", () => {
  it('that stays, or ended before the order, is counted or not for sure', () => {
    assert.deepEqual(ended({}), { before: 0, after: 0 });
    assert.deepEqual(ended({ leftAtUs: 99 }, 99), { before: 0, after: 0 });
  });

  it('that ends between the order and the send may have been counted', () => {
    assert.deepEqual(ended({ leftAtUs: 100 }, 299), { before: 2, after: 0 });
  });

  it('that ends after the send may not have been counted, unless it got the copy', () => {
    assert.deepEqual(ended({ leftAtUs: 310, receivedAtUs: 50 }, 310), { before: 0, after: 1 });
    assert.deepEqual(ended({ leftAtUs: 310, receivedAtUs: 305 }), { before: 0, after: 0 });
    assert.deepEqual(ended({ leftAtUs: 310 }), { before: 0, after: 1 });
  });

  it('is in no other room', () => {
    assert.deepEqual(ended({ leftAtUs: 200 }, 200, { ...BROADCAST, room: 'capacity:1' }), { before: 0, after: 0 });
  });
});
