/** Invented measurements and reports of fleet processes, for tests of computed figures. */

import { ConnectionAccounts } from '../../plugin/fleet/connection-accounts.ts';
import { mergeSnapshots } from '../../plugin/fleet/merge.ts';
import type { EngineSnapshot } from '../../plugin/run/link.ts';
import { Measurements } from '../../plugin/run/measurements/measurements.ts';
import type { HostShare } from '../../plugin/script/load/shares.ts';
import type { Script } from '../../plugin/script/script.ts';
import { readSettings, type Settings } from '../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/base/histogram.ts';
import type { MessageTimes, MessageTotals } from '../../protocol/link/client-messages.ts';
import { type CloseKind, NO_HANDSHAKE_SETTINGS } from '../../protocol/link/close-kinds.ts';
import {
  emptyLedgerRow,
  type FrozenBroadcast,
  NO_LOSSES,
  type ReceiptTotals,
} from '../../protocol/link/ledger-messages.ts';

/** @param options options of the plugin; `stack` is added unless `config` has a target */
export function hookConfig(
  options: object = {},
  config: object = {},
  env: NodeJS.ProcessEnv = {},
  changes: Partial<Script> = {},
  share?: HostShare,
): Settings {
  const script = {
    config: {
      target: 'http://127.0.0.1:8080',
      phases: [{ duration: 2, arrivalRate: 5, rampTo: 5 }],
      plugins: { 'socketio-capacity': { ...('target' in config ? {} : { stack: {} }), ...options } },
      ...config,
    },
    scenarios: [{ engine: 'socketio-capacity', flow: [{ hold: true }] }],
    ...changes,
  };
  return readSettings(script, STEP_KINDS, env, share);
}

/** Returns the measurements of a run that has not started. */
export function measurements(changes: Partial<Measurements> = {}): Measurements {
  return { ...new Measurements('test', hookConfig()), ...changes };
}

export function encoded(valuesUs: number[]): string {
  const histogram = createHistogram();
  for (const us of valuesUs) recordUs(histogram, us);
  return encodeHistogram(histogram);
}

/** Returns a ledger row of a fleet process. All members received the broadcast, unless `changes` differ. */
export function frozenBroadcast(
  seq: number,
  latenciesUs: number[],
  changes: Partial<FrozenBroadcast> = {},
): FrozenBroadcast {
  return {
    ...emptyLedgerRow(seq),
    expected: latenciesUs.length,
    received: latenciesUs.length,
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
  unknownBroadcast: 0,
  open: 0,
  losses: NO_LOSSES,
};

/** Returns totals without messages, unless `changes` differ. */
export function messageTotals(changes: Partial<MessageTotals> = {}): MessageTotals {
  return {
    connections: 0,
    due: 0,
    sent: 0,
    notSent: { missed: 0, disconnected: 0 },
    ackNotRequested: 0,
    acknowledged: 0,
    unanswered: 0,
    waitingConnections: 0,
    skippedByServer: {},
    lost: 0,
    measured: messageTimes([]),
    outside: messageTimes([]),
    ...changes,
  };
}

/** Returns the times of messages that were sent on time and acknowledged. */
export function messageTimes(ackUs: number[], sendDelayUs = ackUs.map(() => 0)): MessageTimes {
  const { length: sent } = sendDelayUs;
  return { sent, acknowledged: ackUs.length, ackUs: encoded(ackUs), sendDelayUs: encoded(sendDelayUs) };
}

export const ENGINE_1 = { host: 'here', engine: '1' };

/** Returns the snapshot of an idle engine, unless `changes` differ. */
export function snapshot(changes: Partial<EngineSnapshot> = {}): EngineSnapshot {
  return {
    from: ENGINE_1,
    engineLoop: { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 },
    ...mergeSnapshots([]),
    ...new ConnectionAccounts().read(),
    still: true,
    ...{ failures: {}, failureExamples: {}, retries: 0 },
    ...changes,
  };
}

/** Returns the close of a connection after one second and one message in each direction. */
export function endKind(changes: Partial<CloseKind> = {}): CloseKind {
  const closeTexts = { reason: 'transport close', cause: '', event: '', closeText: '', text: '' };
  return { ...closeTexts, count: 1, announced: NO_HANDSHAKE_SETTINGS, samples: [[1000, 1, 1, 10]], ...changes };
}
