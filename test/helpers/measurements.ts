/** Made-up measurements and fleet reports, for tests of what is computed from them. */

import type { EngineSnapshot } from '../../plugin/run/link.ts';
import { type Measurements, newMeasurements } from '../../plugin/run/measurements/measurements.ts';
import type { Share } from '../../plugin/script/load/shares.ts';
import type { Script } from '../../plugin/script/script.ts';
import { readSettings, type Settings } from '../../plugin/script/settings.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';
import { CONNECT_STAGES } from '../../protocol/connection.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/histogram.ts';
import type { MessageTimes, MessageTotals } from '../../protocol/link/client-messages.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../protocol/link/ledger.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import { NO_COPIES } from '../../protocol/receipt-columns.ts';

export function hookConfig(
  options: object = {},
  config: object = {},
  env: NodeJS.ProcessEnv = {},
  changes: Partial<Script> = {},
  share?: Share,
): Settings {
  const script = {
    config: {
      target: 'http://127.0.0.1:8080',
      phases: [{ duration: 2, arrivalRate: 5, rampTo: 5 }],
      plugins: { 'socketio-capacity': options },
      ...config,
    },
    scenarios: [{ engine: 'socketio-capacity', flow: [{ hold: true }] }],
    ...changes,
  };
  return readSettings(script, STEPS, env, share);
}

/** Of a run in which nothing has happened yet. */
export function measurements(changes: Partial<Measurements> = {}): Measurements {
  return { ...newMeasurements('test', hookConfig()), ...changes };
}

export function encoded(valuesUs: number[]): string {
  const histogram = createHistogram();
  for (const us of valuesUs) recordUs(histogram, us);
  return encodeHistogram(histogram);
}

/** One fleet process's ledger row for one broadcast: all received it, unless `changes` differ. */
export function frozenBroadcast(
  seq: number,
  latenciesUs: number[],
  changes: Partial<FrozenBroadcast> = {},
): FrozenBroadcast {
  return {
    process: 0,
    seq,
    ...NO_COPIES,
    expected: latenciesUs.length,
    received: latenciesUs.length,
    earlyByUs: 0,
    receivers: 0,
    latencyUs: { local: encoded(latenciesUs), cross: encoded([]) },
    firstUs: Math.min(...latenciesUs),
    lastUs: Math.max(...latenciesUs),
    ...changes,
  };
}

export function sent(seq: number, expected: number) {
  return {
    seq,
    room: 'capacity',
    expected,
    sentAtUs: seq * 1000 + 5,
    stampedAtUs: 0,
    via: 0,
    intendedAtUs: seq * 1000,
    worker: 'w0',
  };
}

export const NO_RECEIPTS: ReceiptTotals = {
  received: 0,
  duplicates: 0,
  late: 0,
  unreadable: 0,
  neverOrdered: 0,
  open: 0,
};

/** Nobody sends any, unless `changes` differ. */
export function messageTotals(changes: Partial<MessageTotals> = {}): MessageTotals {
  return {
    connections: 0,
    due: 0,
    sent: 0,
    notSent: { missed: 0, disconnected: 0 },
    unasked: 0,
    acknowledged: 0,
    unanswered: 0,
    lost: 0,
    measured: messageTimes([]),
    outside: messageTimes([]),
    ...changes,
  };
}

/** All of them acknowledged, and sent on time. */
export function messageTimes(ackUs: number[], sendDelayUs = ackUs.map(() => 0)): MessageTimes {
  const { length: sent } = sendDelayUs;
  return { sent, acknowledged: ackUs.length, ackUs: encoded(ackUs), sendDelayUs: encoded(sendDelayUs) };
}

export const ENGINE_1 = { host: 'here', engine: '1' };

export function snapshot(changes: Partial<EngineSnapshot> = {}): EngineSnapshot {
  const connectUs = Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, encoded([])]));
  return {
    from: ENGINE_1,
    processes: [],
    accounts: { asked: 0, pending: 0, alive: 0, failed: {}, ended: {}, returned: 0 },
    engineLoop: { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 },
    connected: 0,
    failures: {},
    failureExamples: {},
    retries: 0,
    disconnects: {},
    returns: { dropped: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, away: 0, retries: 0, awayUs: encoded([]) },
    transports: { websocket: 0, upgraded: 0, polling: 0 },
    compressed: 0,
    upgradeFailures: {},
    perWorker: {},
    perSessionPrefix: {},
    tlsResumed: 0,
    connectUs: connectUs as FleetSnapshot['connectUs'],
    openings: { startedAtUs: 0, intervalUs: 100_000, counts: [] },
    connecting: connecting(),
    receipts: NO_RECEIPTS,
    messages: messageTotals(),
    ignoredEvents: 0,
    unknownAcks: 0,
    receivedBytes: 0,
    sentBytes: 0,
    ...changes,
  };
}

/** Of nobody. */
function connecting(): FleetSnapshot['connecting'] {
  const none = () => ({ startedAtUs: 0, intervalUs: 1_000_000, counts: [] });
  return { opened: none(), connectUs: none(), slowestUs: none(), failed: none(), ended: none() };
}
