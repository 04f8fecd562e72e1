/** The causal graph: which finding explains which other one, and the evidence that it needs. */

import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import { total } from '../../report/text/format.ts';
import { sum } from '../result/sums.ts';
import type { Measured } from './check.ts';
import { tooLarge } from './checks/ends-checks.ts';
import { ofDeployment } from './checks/failure-causes.ts';

/** The two findings of an edge, and the figures that can refute it. */
interface Evidence {
  cause: Finding;
  effect: Finding;
  result: Measured;
}

interface Edge {
  effects: readonly FindingCode[];
  /** What must hold beside the order in time, for the reference. */
  evidence?: string;
  holds?(evidence: Evidence): boolean;
}

/** Stages of a run in the order of time; `messages` is the time in which connections send them. */
const WINDOWS = ['ramp', 'hold', 'messages', 'broadcasts', 'disconnect'];

/** Failures that a slow machine causes, on either side. */
const TIMED_OUT = /timeout|^ETIMEDOUT$|^http_5\d\d$/;

/** What clients see of a process that ended, or that is not there to accept them. */
const CUT_OFF =
  /^(disconnected_)?transport[ _](close|error)$|^disconnected$|^closed(_1006)?$|^E(CONNREFUSED|CONNRESET|PIPE)$|^http_50[234]$/;
const isCutOff = (cause: string) => CUT_OFF.test(cause) || TIMED_OUT.test(cause);

const noneOther = (counts: Record<string, number>, is: (cause: string) => boolean) =>
  Object.entries(counts).every(([cause, count]) => count === 0 || is(cause));

const all = (counts: Record<string, number>, is: (cause: string) => boolean) =>
  total(counts) > 0 && noneOther(counts, is);

/** Edges from each cause. An edge holds only if the cause is not later than the effect, and its evidence is there. */
export const CAUSES: Partial<Record<FindingCode, readonly Edge[]>> = {
  IMPOSSIBLE_REPORT: [{ effects: ['MEMBERS_DISAGREE'] }],
  SWAPPING: [{ effects: ['READINGS_IMPOSSIBLE'] }],
  MACHINE_SATURATED: [
    { effects: ['GENERATOR_LATE', 'RATE_NOT_REACHED', 'BROADCASTS_LATE', 'READINGS_MISSING', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['CONNECTIONS_FAILED'],
      evidence: 'every failure is a time-out',
      holds: ({ result }) => all(result.connections.failures, (cause) => TIMED_OUT.test(cause)),
    },
  ],
  GENERATOR_SILENT: [{ effects: ['GENERATOR_FAILED', 'TARGET_NOT_REACHED', 'COPIES_LOST', 'PLATEAUS_UNUSABLE'] }],
  FLEET_PROCESS_DIED: [
    { effects: ['GENERATOR_FAILED', 'GENERATOR_SILENT', 'GENERATOR_LATE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] },
    { effects: ['COPIES_LOST', 'MESSAGES_UNACKNOWLEDGED', 'PLATEAUS_UNUSABLE'] },
  ],
  GENERATOR_FAILED: [{ effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'COPIES_LOST', 'PLATEAUS_UNUSABLE'] }],
  GENERATOR_LATE: [{ effects: ['RATE_NOT_REACHED', 'BROADCASTS_LATE', 'CLOCK_UNCERTAIN'] }],
  USERS_SKIPPED: [{ effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] }],
  WORKERS_THROTTLED: [{ effects: ['WORKER_STALLED', 'RATE_NOT_REACHED', 'BROADCASTS_LATE'] }],
  PROCESS_ENDED: [
    {
      effects: [
        'DEPLOYMENT_CHANGED',
        'READINGS_MISSING',
        'READINGS_IMPOSSIBLE',
        'PLATEAUS_UNUSABLE',
        'COLLECTION_MISSING',
      ],
    },
    { effects: ['WORKERS_DISAGREE', 'MEMBERS_DISAGREE', 'WORKER_STALLED', 'PROCESS_APART', 'PROBE_INCOMPLETE'] },
    { effects: ['BROADCASTS_NOT_SENT', 'BROADCASTS_UNCONFIRMED', 'TAIL_CUT'] },
    {
      effects: ['CONNECTIONS_DROPPED'],
      evidence: 'every lost connection was cut off',
      holds: ({ result }) => all(ofDeployment(result.connections.lost), isCutOff),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CLIENTS_REFUSED'],
      evidence: 'every failure is a cut or refused connection, an answer of a gateway, or a time-out',
      holds: ({ result }) => all(ofDeployment(result.connections.failures), isCutOff),
    },
    {
      effects: ['RUN_INCOMPLETE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'LIMIT_REACHED', 'NOBODY_JOINED'],
      evidence: 'every lost or failed connection is explained',
      holds: ({ result: { connections } }) =>
        noneOther(ofDeployment(connections.lost), isCutOff) && noneOther(ofDeployment(connections.failures), isCutOff),
    },
    {
      effects: ['COPIES_LOST', 'DELIVERY_EVENT_MISSING', 'MESSAGES_UNACKNOWLEDGED'],
      evidence: 'what is missing was on lost connections, or an adapter lost a process',
      holds: ({ effect, result: { messages } }) =>
        effect.code !== 'MESSAGES_UNACKNOWLEDGED' || messages?.unansweredConnected === 0,
    },
  ],
  DEPLOYMENT_CHANGED: [
    {
      effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'PLATEAUS_UNUSABLE', 'COLLECTION_MISSING'],
    },
    {
      effects: [
        'CONNECTIONS_DROPPED',
        'CONNECTIONS_FAILED',
        'TARGET_NOT_REACHED',
        'COPIES_LOST',
        'BROADCASTS_NOT_SENT',
      ],
    },
  ],
  WORKER_STALLED: [
    { effects: ['RATE_NOT_REACHED', 'BROADCASTS_LATE'], evidence: 'in the same window', holds: inSameWindow },
  ],
  RUN_INCOMPLETE: [{ effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE', 'READINGS_MISSING'] }],
  WORKER_URLS_WRONG: [
    { effects: ['WORKERS_DISAGREE', 'READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'COLLECTION_MISSING'] },
    { effects: ['PLATEAUS_UNUSABLE'] },
  ],
  LIMIT_REACHED: [{ effects: ['CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'CLIENTS_REFUSED', 'PLATEAUS_UNUSABLE'] }],
  MESSAGES_TOO_LARGE: [
    {
      effects: ['CONNECTIONS_DROPPED', 'CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE', 'COPIES_LOST'],
      evidence: 'as many connections ended by it as failed or were lost',
      holds: ({ result: { connections } }) =>
        sum(tooLarge(connections.ends).map(({ count }) => count)) >=
        Math.max(total(connections.lost), total(connections.failures)),
    },
    { effects: ['MESSAGES_UNACKNOWLEDGED'] },
  ],
  CONNECTIONS_FAILED: [
    {
      effects: ['TARGET_NOT_REACHED'],
      evidence: 'as many failed as are missing',
      holds: ({ result: { connections } }) => connections.peak + connections.failed >= connections.target,
    },
    {
      effects: ['NOBODY_JOINED', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
      evidence: 'no connection was open',
      holds: ({ result }) => result.connections.peak === 0,
    },
  ],
  CONNECTIONS_DROPPED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      evidence: 'as many failed or were lost as are missing',
      holds: ({ result: { connections } }) =>
        connections.peak + connections.failed + total(connections.lost) >= connections.target,
    },
    {
      effects: ['COPIES_LOST'],
      evidence: 'every lost copy is one of a lost connection',
      holds: ({ result: { delivery } }) => delivery?.lostConnected === 0,
    },
    {
      effects: ['MESSAGES_UNACKNOWLEDGED'],
      evidence: 'every message without an acknowledgement was on a lost connection',
      holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
    },
  ],
  NOBODY_JOINED: [{ effects: ['DELIVERY_EVENT_MISSING', 'AUDIENCE_DIFFERS'] }],
  DELIVERY_EVENT_MISSING: [{ effects: ['COPIES_LOST'] }],
  IDS_NOT_SHARED: [{ effects: ['COPIES_LOST'] }],
  IDS_NOT_COUNTED: [{ effects: ['COPIES_LOST'] }],
  ADAPTER_MISSING: [{ effects: ['MEMBERS_DISAGREE', 'COPIES_LOST'] }],
  AUDIENCE_DIFFERS: [{ effects: ['COPIES_LOST'] }],
  STILL_COUNTED: [{ effects: ['WORKERS_LEAK', 'MACHINE_LEAK'] }],
  CLOCK_UNCERTAIN: [{ effects: ['SENT_AT_UNUSABLE'] }],
};

/** @returns codes of the other findings that this one explains */
export function explainedBy(cause: Finding, findings: readonly Finding[], result: Measured): string[] {
  const edges = CAUSES[cause.code as FindingCode] ?? [];
  return findings
    .filter((effect) =>
      edges.some(
        ({ effects, holds }) =>
          effects.includes(effect.code as FindingCode) &&
          isNotLater(cause, effect) &&
          (holds?.({ cause, effect, result }) ?? true),
      ),
    )
    .map(({ code }) => code);
}

/** A finding without a window is about the whole run. */
function isNotLater(cause: Finding, effect: Finding): boolean {
  if (cause.window === undefined || effect.window === undefined) return true;
  return WINDOWS.indexOf(cause.window) <= WINDOWS.indexOf(effect.window);
}

function inSameWindow({ cause, effect }: Evidence): boolean {
  return cause.window === undefined || effect.window === undefined || cause.window === effect.window;
}
