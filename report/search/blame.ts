/** Whose limit a run met, by the reasons of its verdict and the causes of failed connections. */
import type { ReasonCode } from '../../protocol/codes/verdict-reasons.ts';
import type { Blame } from '../../protocol/documents/search.ts';
import type { Result } from '../../protocol/result/result.ts';
import { counted } from '../text/format.ts';
import { sharesMachine } from '../text/place.ts';

/**
 * `machine`: of the generator's machine, which can be the deployment's, too. `measurement`: says nothing about capacity;
 * if it invalidates the run, nothing else does, either.
 */
const BLAME: Record<ReasonCode, Blame> = {
  NO_CONNECTIONS: 'deployment',
  CONNECTIONS_FAILED: 'deployment',
  CONNECTIONS_LOST: 'deployment',
  CONNECTIONS_DROPPED: 'deployment',
  NOT_UPGRADED: 'deployment',
  TARGET_NOT_REACHED: 'deployment',
  NOT_SETTLED: 'deployment',
  RATE_NOT_REACHED: 'deployment',
  UNIFORM_CEILING: 'deployment',
  WARM_UP_FAILED: 'deployment',
  WORKERS_THROTTLED: 'deployment',
  WORKER_RESTARTED: 'deployment',
  DEPLOYMENT_CHANGED: 'deployment',
  REDIS_GONE: 'deployment',
  COUNTS_DISAGREE: 'deployment',
  WORKERS_DISAGREE: 'deployment',
  BROADCAST_NOT_SENT: 'deployment',
  BROADCASTS_LATE: 'deployment',
  BROADCASTS_UNSEEN: 'deployment',
  DELIVERY_EVENT_MISSING: 'deployment',
  DUPLICATE_RECEIPTS: 'deployment',
  LATE_RECEIPTS: 'deployment',
  WRONG_PAYLOADS: 'deployment',
  ROUND_TRIPS_MISSING: 'deployment',
  SENTINEL_MISSING: 'deployment',
  RUN_INCOMPLETE: 'deployment',
  FAULT_FAILED: 'measurement',

  GENERATOR_LAGS: 'generator',
  GENERATOR_QUEUES: 'generator',
  FLEET_PROCESS_SILENT: 'generator',
  AGENT_LOST: 'generator',
  FLEET_PROCESS_DIED: 'generator',
  MESSAGES_MISSED: 'generator',
  MESSAGES_LATE: 'generator',
  ENGINE_SILENT: 'generator',

  MACHINE_SATURATED: 'machine',
  CPU_THROTTLED: 'machine',
  SWAPPING: 'machine',

  USERS_SKIPPED: 'measurement',
  LEDGER_MISMATCH: 'measurement',
  FAULT_MISMATCH: 'measurement',
  COPIES_MISMATCH: 'measurement',
  MESSAGES_MISMATCH: 'measurement',
  MESSAGES_DISAGREE: 'measurement',
  RECEIVED_BEFORE_SENT: 'measurement',
  ROUND_TRIPS_IMPOSSIBLE: 'measurement',
  CONFIRMATION_WRONG: 'measurement',
  ACCOUNTS_MISMATCH: 'measurement',
  TRANSPORTS_MISMATCH: 'measurement',
  WORKER_UNKNOWN: 'measurement',
  WORKER_REPEATED: 'measurement',
  STATISTICS_STALE: 'measurement',
  METRICS_ALTERNATE: 'measurement',
  UNKNOWN_ACKS: 'measurement',
  PLATEAU_MOVED: 'measurement',
  NOBODY_EXPECTED: 'measurement',
  NOT_MEMBER_RECEIPTS: 'measurement',
  NEVER_ORDERED: 'measurement',
  UNREADABLE_BROADCASTS: 'measurement',
  IDS_NOT_SHARED: 'measurement',
  AUDIENCE_DIFFERS: 'measurement',
  SENT_AT_UNUSABLE: 'measurement',
  IDS_NOT_COUNTED: 'measurement',
  BASELINE_NOT_EMPTY: 'measurement',
  CLOCK_UNCERTAIN: 'measurement',
  SAMPLER_GAPS: 'measurement',
  METRICS_GONE: 'measurement',
  OBSERVER_GONE: 'measurement',
  MEMORY_MISSING: 'measurement',
  TOO_FEW_PLATEAUS: 'measurement',
  MEMORY_NOT_LINEAR: 'measurement',
  MEMORY_GROWS: 'measurement',
  MEMORY_FALLS: 'measurement',
  COLLECTION_MISSING: 'measurement',
  NOT_GONE: 'measurement',
};

/** Causes of failed connections that lie with the generator: its files, ports, processes. */
const GENERATOR_CAUSE =
  /^(EMFILE|EADDRNOTAVAIL|buffers_full|fleet_\w+|disconnected_fleet_\w+|engine_not_started|internal_error)$/;
/** Of the whole machine. */
const MACHINE_CAUSE = /^(ENFILE|ENOMEM|ENOBUFS)$/;
/** A loop that is this busy opens no more connections. */
const BUSY_LOOP = 0.9;

export interface Blamed {
  /** Of the verdict's reason, or the cause of failed connections. */
  code: string;
  blame: Blame;
  text: string;
}

/** @returns whose limit each reason of the verdict shows, in their order */
export function blamesOf(result: Result): Blamed[] {
  const ofMachine: Blame = sharesMachine(result) ? 'machine' : 'generator';
  const reasons = result.verdict.reasons.map(({ code, message }): Blamed => {
    const blame = blameOf(code, result);
    return { code, blame: blame === 'machine' ? ofMachine : blame, text: `${code}: ${message}` };
  });
  const failures = Object.entries(result.connections.failures).flatMap(([cause, failed]): Blamed[] => {
    const blame = GENERATOR_CAUSE.test(cause) ? 'generator' : MACHINE_CAUSE.test(cause) ? ofMachine : undefined;
    return blame ? [{ code: cause, blame, text: `${cause}: ${counted(failed, 'connection')} failed` }] : [];
  });
  return [...failures, ...reasons];
}

function blameOf(code: string, { generator, connections, verdict }: Result): Blame {
  const busy = generator.some(({ window, utilization }) => window === 'ramp' && utilization >= BUSY_LOOP);
  const throttled = verdict.reasons.some(({ code }) => code === 'CPU_THROTTLED');
  if (code === 'RATE_NOT_REACHED' && (busy || throttled)) return 'generator';
  // Without failures, it is that all fleet processes stopped at the same number.
  if (code === 'UNIFORM_CEILING' && !Object.keys(connections.failures).some((cause) => cause.startsWith('http_')))
    return 'generator';
  // Of another version: unknown, so it shows nothing.
  return Object.hasOwn(BLAME, code) ? BLAME[code as ReasonCode] : 'measurement';
}
