/** An invented planned fault: a killed worker. */
import { type FaultResult, faultResultSchema } from '../../protocol/result/fault-schema.ts';

const FAULT: FaultResult = {
  ...{ kind: 'kill-worker', command: null, t: 20, tookMs: 2, overMs: 4100, replaced: ['w0'] },
  ...{ connections: 1000, stayed: 500, dropped: 500, reconnected: 500, notReconnected: {} },
  reconnectMs: { p50: 760, p99: 1010, all: 1030 },
  ...{ drops: 510, returns: 500, recovered: 7, attempts: 640, failedAttempts: { http_502: 140 } },
  ...{ peakAttemptsPerSec: 480, peakReturnsPerSec: 470 },
  backoff: { attempts: 10, delayMs: 1000, maxDelayMs: 5000, jitter: 0.5 },
  peakCpuPercent: { worker: 81, system: 55 },
  broadcasts: {
    sent: 4,
    notSent: 1,
    unknown: 0,
    due: 4000,
    received: 3800,
    resent: 3,
    lost: 20,
    absent: 180,
    missed: 200,
  },
  perWorker: { before: { w0: 500, w1: 500 }, after: { w0: 65, w1: 925 } },
  curve: [
    { ms: 100, connected: 500, attempts: 0, returns: 0 },
    { ms: 200, connected: 1000, attempts: 640, returns: 500 },
  ],
};

export function plannedFault(changes: Partial<FaultResult> = {}): FaultResult {
  return faultResultSchema.parse({ ...FAULT, ...changes }) as FaultResult;
}
