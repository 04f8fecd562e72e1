import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concludeFigures } from '../../../plugin/findings/conclude.ts';
import { faultFigures } from '../../../plugin/result/assemble-fault.ts';
import { batchRows } from '../../../plugin/result/delivery/assemble-delivery.ts';
import type { FaultMeasured } from '../../../plugin/run/measurements/fault-measured.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import type { FaultCounts } from '../../../protocol/link/fault-messages.ts';
import type { FaultResult } from '../../../protocol/result/fault-schema.ts';
import { column } from '../../helpers/columns.ts';
import { encoded, frozenBroadcast, hookConfig, measurements, sent, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';

const AT_US = 3000;
const OVER_US = 6500;
const W1 = { worker: 'w1', pid: 2, instance: 'b' };
const BEFORE = [{ worker: 'w0', pid: 1, instance: 'a' }, W1];
const AFTER = [{ worker: 'w0', pid: 9, instance: 'c' }, W1];
const LATER = [{ worker: 'w0', pid: 10, instance: 'd' }, W1];

/** Returns the counts of ten connections. Six dropped, and five of them returned after 1, 2, 3, 4 and 5 s. */
function counts(changes: Partial<FaultCounts> = {}): FaultCounts {
  const series = (at: number[]) => {
    const intervals = Array<number>(510).fill(0);
    for (const index of at) intervals[index] = (intervals[index] ?? 0) + 1;
    return { startedAtUs: AT_US, intervalUs: 10_000, counts: intervals };
  };
  return {
    ...{ connections: 10, stayed: 4, dropped: 6, reconnected: 5, notReconnected: { 'gave up': 1 }, recovered: 0 },
    reconnectUs: encoded([1e6, 2e6, 3e6, 4e6, 5e6]),
    drops: series([0, 0, 0, 0, 0, 0]),
    attempts: series([100, 150, 190, 201, 300, 400, 500]),
    returns: series([100, 200, 300, 400, 500]),
    failedAttempts: { http_502: 2 },
    ...changes,
  };
}

const FAULT: FaultMeasured = {
  ...{ kind: 'kill-worker', command: undefined, atUs: AT_US, t: 20, tookMs: 1, replaced: ['w0'], restarted: [] },
  over: { atUs: OVER_US, t: 26 },
  workers: { before: BEFORE, after: AFTER },
  perWorker: { before: { w0: 6, w1: 4 }, after: { w1: 9 } },
};

function row(t: number, cpu: Record<string, number>): SampleRow {
  const layers = Object.entries(cpu).map(([layer, cpuPercent]) => [layer, { cpuPercent }]);
  return { t, connections: 1, ...Object.fromEntries(layers) } as SampleRow;
}

/** Returns a run with a fault. Broadcasts 1 and 2 are before it, 3 to 6 during it (4 was not sent), and 7 after it. */
function run(fault: Partial<FaultMeasured> = {}, fleet: Partial<FaultCounts> = {}) {
  const measured: Measurements = measurements({
    fault: { ...FAULT, ...fault },
    workersAtStart: BEFORE,
    workersAtEnd: AFTER,
    snapshots: [snapshot({ fault: counts(fleet) })],
    sent: [1, 2, 3, 5, 6, 7].map((seq) => ({ ...sent(seq, 10), expected: null })),
    unsent: [{ seq: 4, message: 'connection lost', intendedAtUs: 4000 }],
    frozen: [1, 2, 3, 5, 6, 7].map((seq) => {
      const received = { 3: 4, 5: 6, 6: 8 }[seq] ?? 10;
      const members = seq === 3 ? { expected: 5, lostConnected: 1 } : {};
      return frozenBroadcast(seq, Array(received).fill(100), { ...members, unexpected: seq === 5 ? 1 : 0 });
    }),
  });
  const engines = { 'socketio-capacity': { reconnection: true } };
  const config = hookConfig({ fault: { kind: 'kill-worker', at: 2 } }, { engines });
  const samples = [row(19, { worker: 99 }), row(21, { worker: 40, system: 70 }), row(22, { worker: 60, system: 30 })];
  const figures = faultFigures(measured, batchRows(measured), config, samples) as FaultResult;
  const { verdict, findings } = concludeFigures(measured, { ...perfectResult(), delivery: null, fault: figures });
  return { figures, status: verdict.status, findings, codes: column(findings, 'code') as string[] };
}

describe('a planned fault', () => {
  it('a planned fault counts stayed, dropped and returned connections with their times', () => {
    const { connections, stayed, dropped, reconnected, notReconnected, reconnectMs, overMs, backoff } = run().figures;
    assert.deepEqual([connections, stayed, dropped, reconnected, notReconnected], [10, 4, 6, 5, { 'gave up': 1 }]);
    // Half of the six dropped connections returned within 3 s. The sixth never returned.
    assert.ok(Math.abs((reconnectMs.p50 ?? 0) - 3000) < 10, String(reconnectMs.p50));
    assert.deepEqual([reconnectMs.p99, reconnectMs.all, overMs], [null, null, 3.5]);
    assert.deepEqual(backoff, { attempts: 10, delayMs: 1000, maxDelayMs: 5000, jitter: 0.5 });
  });

  it('the result of a planned fault has the peaks of its window, and a curve of open connections', () => {
    const { peakAttemptsPerSec, peakReturnsPerSec, peakCpuPercent, attempts, drops, returns, curve } = run().figures;
    assert.deepEqual([attempts, drops, returns], [7, 6, 5]);
    // Attempts are at 1, 1.5 and 1.9 s. The next attempt, at 2.01 s, is more than a second after the first.
    assert.deepEqual([peakAttemptsPerSec, peakReturnsPerSec], [3, 1]);
    assert.deepEqual(peakCpuPercent, { worker: 60, system: 70 });
    assert.deepEqual(curve[0], { ms: 100, connected: 4, attempts: 0, returns: 0 });
    assert.deepEqual(curve[10], { ms: 1100, connected: 5, attempts: 1, returns: 1 });
    assert.equal(curve.at(-1)?.connected, 9);
  });

  it('counts the receivers that missed broadcasts during a planned fault', () => {
    // Broadcast 3 was received by four of ten, and one member lost it. Broadcast 5 was received by six, and by one that
    // was joining. Broadcast 6 was received by eight.
    assert.deepEqual(run().figures.broadcasts, {
      ...{ sent: 3, notSent: 1, unknown: 0, due: 30, received: 19, resent: 0 },
      ...{ lost: 1, absent: 10, missed: 11 },
    });
  });
});

describe('the verdict of a planned fault', () => {
  it('the planned effects of a fault do not make the run SUSPECT', () => {
    const doubts = /PROCESS_ENDED|DEPLOYMENT_CHANGED|BROADCASTS_NOT_SENT|ACCOUNTS_MISMATCH|CONNECTIONS_DROPPED/;
    assert.doesNotMatch(run().codes.join(), doubts);
  });

  for (const [what, fault] of Object.entries({
    'beside the fault': { restarted: ['w1'] },
    'before the fault': { workers: { before: LATER, after: AFTER } },
    'after the fault': { workers: { before: BEFORE, after: LATER } },
  })) {
    it(`reports a worker that restarts ${what}`, () => {
      const found = run(fault).findings.find(({ code }) => code === 'PROCESS_ENDED');
      assertNames(found?.message, ['restarted' in fault ? 'w1' : 'w0']);
    });
  }

  for (const [what, wrong] of Object.entries({
    'a connection that neither stayed nor dropped': { connections: 11 },
    'a dropped connection without an outcome': { reconnected: 4 },
    'an open connection that never reconnected': { reconnected: 6, notReconnected: {} },
  })) {
    it(`the verdict of a planned fault is INVALID with ${what}`, () => {
      const { codes, status } = run({}, wrong);
      assert.ok(codes.includes('ACCOUNTS_MISMATCH'));
      assert.equal(status, 'INVALID');
    });
  }
});
