/** Servers whose control says something else than what happens. */
import assert from 'node:assert/strict';
import { io as connect } from 'socket.io-client';
import type { WorkerStats } from '../../../protocol/events.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { assertNames } from '../verdict.ts';
import { BROADCASTS, CONNECTIONS, COPIES, type Member } from './member.ts';
import { WORKER } from './server.ts';

function assertNoMemory({ memory, capacity }: Result): void {
  assert.equal(memory.perConnectionBytes.workerRss?.doubt, 'miscounted');
  assert.equal(capacity.memoryLimited, null);
}

const ramp = { duration: 1, arrivalRate: CONNECTIONS / 4, rampTo: CONNECTIONS / 4 };
const FOUR_PLATEAUS = { phases: Array.from({ length: 4 }, () => [ramp, { pause: 0.1 }]).flat() };
const BYTES = { base: 5e7, perConnection: 4e6, perPair: 4e4 };

export const workers: Member[] = [
  {
    name: 'has memory outside of V8 that grows with the pairs of connections, and is the smaller part',
    habits: () => ({
      stats: (truth) => {
        const { connections: n } = truth;
        const heapUsedBytes = BYTES.perConnection * n;
        return { ...truth, heapUsedBytes, rssBytes: BYTES.base + heapUsedBytes + BYTES.perPair * n ** 2 };
      },
    }),
    config: FOUR_PLATEAUS,
    reasons: ['MEMORY_NOT_LINEAR'],
    connections: { configuredRatePerSec: CONNECTIONS / 4 },
    check: ({ verdict }) =>
      assertNames(verdict.reasons.find(({ code }) => code === 'MEMORY_NOT_LINEAR')?.message, ['workerRss']),
  },
  {
    name: 'has a worker without control port',
    habits: () => {
      let elsewhere = 0;
      return {
        workerOf: (n) => (n > 10 ? 'w1' : WORKER),
        connected(socket, n) {
          if (n <= 10) return;
          elsewhere++;
          socket.on('disconnect', () => void elsewhere--);
        },
        stats: (truth) => ({ ...truth, connections: truth.connections - elsewhere }),
      };
    },
    reasons: ['WORKER_URLS_WRONG'],
    check(result) {
      assert.deepEqual(result.connections.perWorker, { [WORKER]: 10, w1: 10 });
      assertNoMemory(result);
    },
  },
  {
    name: 'gets connections of other people',
    habits: () => ({
      connected({ handshake }, n) {
        if (n !== 3) return;
        for (let other = 0; other < 3; other++) {
          connect(`http://${handshake.headers.host}`, {
            forceNew: true,
            reconnection: false,
            transports: ['websocket'],
          });
        }
      },
    }),
    reasons: ['WORKERS_DISAGREE'],
    check: assertNoMemory,
  },
  {
    name: 'repeats its first statistics',
    habits: () => {
      let first: WorkerStats | undefined;
      return { stats: (truth) => (first ??= truth) };
    },
    reasons: ['WORKER_URLS_WRONG'],
    // That it collects its garbage, too, its statistics do not show.
    check: ({ memory, capacity }) =>
      assert.deepEqual([memory.perConnectionBytes.workerRss, capacity.memoryLimited], [undefined, null]),
  },
  {
    name: 'counts two members too many',
    habits: () => ({ sent: (truth) => ({ ...truth, expected: (truth.expected ?? 0) + 2 }) }),
    options: { drain: { quiet: 0.1, deadline: 1 } },
    reasons: ['MEMBERS_DISAGREE'],
    check: ({ delivery }) => assert.equal(delivery?.batches[0]?.serverMembers, CONNECTIONS + 2),
  },
  {
    name: 'confirms a broadcast that it does not send',
    habits: () => ({ withholds: BROADCASTS }),
    options: { drain: { quiet: 0.1, deadline: 1 } },
    reasons: ['PROBE_INCOMPLETE'],
    delivery: { received: COPIES - CONNECTIONS, lostConnected: CONNECTIONS, frames: COPIES - CONNECTIONS },
  },
  {
    name: 'sends a broadcast that it reports as failed',
    habits: () => ({
      sent(truth) {
        if (truth.seq === 2) throw new Error('out of order');
        return truth;
      },
    }),
    reasons: ['BROADCASTS_NOT_SENT', 'WRONG_COPIES'],
    delivery: { expected: COPIES - CONNECTIONS, received: COPIES - CONNECTIONS, neverOrdered: CONNECTIONS },
  },
  {
    name: 'refuses a collection that is ordered',
    habits: () => {
      let arrived = 0;
      return {
        connected(_socket, n) {
          arrived = n;
        },
        gc() {
          if (arrived === CONNECTIONS) throw new Error('not now');
        },
      };
    },
    reasons: ['RUN_INCOMPLETE'],
    delivery: { expected: 0, received: 0, frames: 0 },
  },
];
