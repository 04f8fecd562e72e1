/** Servers whose control port or page of metrics reports something false. */
import assert from 'node:assert/strict';
import { io as connect } from 'socket.io-client';
import type { Result } from '../../../protocol/result/result.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { assertNames } from '../verdict.ts';
import { BROADCASTS, CONNECTIONS, COPIES, type Member } from './member.ts';
import { WORKER } from './server.ts';

function assertNoMemory({ memory, capacity }: Result): void {
  assert.equal(memory.perConnectionBytes.workerRss?.doubt, 'miscounted');
  assert.equal(capacity.memoryLimited, null);
}

const ramp = { duration: 1, arrivalRate: CONNECTIONS / 4, rampTo: CONNECTIONS / 4 };
const FOUR_PLATEAUS = { phases: Array.from({ length: 4 }, () => [ramp, { pause: 0.1 }]).flat() };
const BYTES = { base: 5e7, perConnection: 4e6, perPair: 1.5e5 };

/** Phases that are long enough to read several pages, so that pages before and during the load differ. */
const pageRamp = { duration: 1, arrivalRate: 10, rampTo: 10 };
const PHASES = { phases: [pageRamp, { pause: 3 }, pageRamp, { pause: 3 }] };
const MB = 2 ** 20;
/** Number of clients, half of the load, at which the fault occurs. */
const HALF = 10;

interface Page {
  clients: number;
  cpuSeconds: number;
  startedAt?: number;
}

/** Returns a page like prom-client's default metrics. */
function page({ clients, cpuSeconds, startedAt }: Page): string {
  const lines = [
    `process_resident_memory_bytes ${50 * MB + clients * 20_000}`,
    `process_cpu_seconds_total ${cpuSeconds}`,
    ...(startedAt === undefined ? [] : [`process_start_time_seconds ${startedAt}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns pages whose counters restart when half of the load is connected. */
function restarting(): (clients: number) => string {
  let isAnother = false;
  let cpuSeconds = 100;
  return (clients) => {
    if (!isAnother && clients > HALF) [isAnother, cpuSeconds] = [true, 0];
    cpuSeconds += 0.01;
    return page({ clients, cpuSeconds });
  };
}

const prometheus: Member['workers'] = ({ url }) => ({ prometheus: [{ url: `${url}/metrics` }] });

export const workers: Member[] = [
  {
    name: 'has memory outside of V8 that grows quadratically, and is the smaller part',
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
    check: ({ findings }) =>
      assertNames(findings.find(({ code }) => code === 'MEMORY_NOT_LINEAR')?.message, ['workerRss']),
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
    name: 'counts fewer connections than it has accepted',
    habits: () => ({ stats: (truth) => ({ ...truth, connections: Math.round(0.95 * truth.connections) }) }),
    reasons: ['WORKERS_DISAGREE'],
    check(result) {
      const found = result.findings.find(({ code }) => code === 'WORKERS_DISAGREE');
      assertNames(found?.message, ['they accepted all that the run made']);
      assertNames(found?.fix, ['the count itself is wrong']);
      assertNoMemory(result);
    },
  },
  {
    name: 'gets connections of other clients',
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
    name: 'restarts with the same instance and process id',
    habits: () => {
      let before: WorkerStats | undefined;
      return {
        stats: (truth) => {
          if (truth.connections <= HALF + 1) return truth;
          before ??= truth;
          const { uptimeSeconds, accepted } = before;
          return {
            ...truth,
            uptimeSeconds: truth.uptimeSeconds - uptimeSeconds,
            accepted: truth.accepted - accepted,
          };
        },
      };
    },
    reasons: ['PROCESS_ENDED'],
    check: ({ findings, outcome }) => {
      assert.equal(outcome.status, 'FAILED');
      const found = findings.find(({ code }) => code === 'PROCESS_ENDED');
      assertNames(found?.message, [`${WORKER} restarted at`, '(its uptime fell from']);
    },
  },
  {
    name: 'repeats its first statistics',
    habits: () => {
      let first: WorkerStats | undefined;
      return { stats: (truth) => (first ??= truth) };
    },
    reasons: ['WORKER_URLS_WRONG'],
    // Constant statistics do not show garbage collections either.
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
    reasons: ['COPIES_LOST', 'PROBE_INCOMPLETE'],
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
    delivery: { expected: COPIES - CONNECTIONS, received: COPIES - CONNECTIONS, unknownBroadcast: CONNECTIONS },
  },
  {
    name: 'refuses a requested collection',
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
    delivery: null,
  },
  {
    name: 'stops serving its page of metrics',
    habits: () => {
      let isGone = false;
      return {
        metrics(clients) {
          isGone ||= clients > HALF;
          return isGone ? undefined : page({ clients, cpuSeconds: clients / 100 });
        },
      };
    },
    workers: prometheus,
    config: PHASES,
    reasons: ['SOURCE_UNREADABLE'],
    check: ({ memory }) => assert.equal(memory.perConnectionBytes.workerRss, undefined),
  },
  {
    name: 'repeats its page of metrics',
    habits: () => ({ metrics: () => page({ clients: 0, cpuSeconds: 1, startedAt: 1 }) }),
    workers: prometheus,
    config: PHASES,
    reasons: ['WORKER_URLS_WRONG'],
  },
  {
    name: 'reports constant memory on its page of metrics',
    habits: () => {
      let cpuSeconds = 0;
      return {
        metrics: () => {
          cpuSeconds += 0.01;
          return page({ clients: 0, cpuSeconds });
        },
      };
    },
    workers: prometheus,
    config: PHASES,
    reasons: ['READINGS_IMPOSSIBLE'],
    check: ({ memory }) => {
      assert.deepEqual([memory.perConnectionBytes.workerRss, memory.perConnection], [undefined, null]);
      assertNames(memory.absent.workerRss, ['52,428,800 bytes']);
    },
  },
  {
    name: 'reports a constant heap',
    habits: () => ({ stats: (truth) => ({ ...truth, heapUsedBytes: BYTES.base / 2 }) }),
    reasons: ['READINGS_IMPOSSIBLE'],
    check: ({ memory }) =>
      assert.deepEqual(
        Object.keys(memory.absent).filter((id) => /Heap|Kept/.test(id)),
        ['workerHeapUsed', 'workerKept'],
      ),
  },
  {
    name: 'resets the counters on its page of metrics, without a start time of the process',
    habits: () => ({ metrics: restarting() }),
    workers: prometheus,
    config: PHASES,
    reasons: ['PROCESS_ENDED'],
  },
];
