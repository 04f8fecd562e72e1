/** The causal graph: which finding explains which other one, and the evidence that it needs. */

import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { titleOfLayer } from '../../protocol/documents/named-layers.ts';
import type { Batch } from '../../protocol/result/delivery-schema.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import { fullProcess } from '../../report/figures/limits.ts';
import { STANDSTILL } from '../../report/figures/stalls.ts';
import { total } from '../../report/text/format.ts';
import { sameAudience, separateGroups } from '../result/delivery/audience.ts';
import { sum } from '../result/sums.ts';
import { METRICS_PAGE, SERVER_PROCESSES } from '../run/measurements/observations.ts';
import type { Measured } from './check.ts';
import { isOfSlowServer, isTimeOut } from './checks/connections/cut-off.ts';
import { tooLarge } from './checks/connections/ends-checks.ts';
import { missedCycle, PING_TIMEOUT } from './checks/connections/pings.ts';
import { growthSeconds } from './checks/delivery/keeping-up-checks.ts';
import { acksOf } from './checks/delivery/messages-checks.ts';
import { fullWorkers } from './checks/server/saturation-checks.ts';
import { stalledServer } from './checks/server/stalls-checks.ts';
import {
  allFailuresAreCuts,
  allLostWereCutOff,
  areMostMissing,
  type Counts,
  differByThoseCutOff,
  differByUnknownWorkers,
  endedWithConnections,
  longestDelayMs,
  lostByWholeWorker,
  lostSinceChange,
  lostSinceEnd,
  lostSinceRedisWaited,
  lostWhileHalted,
  MAX_GROWTH,
  noneEnded,
  noneOther,
  onlyCuts,
  onlyOnLostConnections,
  publishersWereLost,
  waitedForServer,
} from './evidence.ts';

interface Evidence extends Counts {
  cause: Finding;
  effect: Finding;
}

interface Edge {
  effects: readonly FindingCode[];
  /** What must hold beside the order in time, for the reference. */
  evidence?: string;
  holds?(evidence: Evidence): boolean;
}

/** Parts that change if a process of the server ends. */
const OF_SERVER: string[] = [SERVER_PROCESSES, METRICS_PAGE];
/** What a part that lost copies looks like, if it served the same connections each time. */
const APART = ['AUDIENCE_DIFFERS', 'ADAPTER_MISSING'] as const satisfies FindingCode[];

/** Returns whether each part that changed, and a Redis that is silent, is of a process that was seen to end. */
function onlyEndedChanged({ measurements: { observations, endedProcesses } }: Counts): boolean {
  const ended = endedProcesses().map(({ layer }) => titleOfLayer(layer));
  const isOfEnded = (part: string) => OF_SERVER.includes(part) || ended.some((title) => part.startsWith(title));
  const changed = observations.of('partsChanged').flatMap(({ parts }) => parts);
  const silent = observations.of('redisSilent').map(({ name }) => name);
  return [...changed, ...silent].every(isOfEnded);
}

/** The engine's defaults. */
const TIMEOUTS_SECONDS = { connectTimeout: 20, timeout: 10 };
/** A delay of less than this share of a time-out ends nothing. */
const MIN_TIMEOUT_SHARE = 0.1;
/** @returns whether a part beside Redis changed: connections do not pass Redis */
const carriesConnections = ({ measurements: { observations, silentWorkers } }: Counts) =>
  silentWorkers.length > 0 ||
  observations.of('partsChanged').some(({ parts }) => parts.some((part) => !part.startsWith('Redis')));

const LOST_WITH_CONNECTIONS: Edge = {
  effects: ['COPIES_LOST'],
  evidence: 'every lost copy is one of a lost connection',
  holds: onlyOnLostConnections,
};

/** Without connections, nothing can be received or measured. */
const OF_NO_CONNECTION: Edge = {
  effects: ['NOBODY_JOINED', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
  evidence: 'no connection opened, or all were lost',
  holds: ({ result: { connections } }) => connections.peak === 0 || total(connections.lost) >= connections.opened,
};

const UNANSWERED_ON_LOST: Edge = {
  effects: ['MESSAGES_UNACKNOWLEDGED'],
  evidence: 'every message without an acknowledgement was on a lost connection',
  holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
};

/** @returns the edge of a cause that is found by the copies that are missing @param rows broadcasts in which it is */
function ofMissing(what: string, rows: (counts: Counts, batches: Batch[]) => Batch[]): Edge {
  return {
    effects: ['COPIES_LOST'],
    evidence: `nine in ten of the missing copies are of broadcasts ${what}`,
    holds: (counts) => areMostMissing(rows(counts, counts.result.delivery?.batches ?? []), counts),
  };
}

const OF_NONE_RECEIVED = ofMissing('that nobody received', (_, batches) =>
  batches.filter((batch) => batch.received === 0),
);

const noneGone = ({ connections: { failures, lost } }: Measured) => total(failures) + total(lost) === 0;

/** Returns whether connections failed or were lost, each of them for such a cause. */
function allGoneBy(is: (cause: string) => boolean, result: Measured): boolean {
  const { failures, lost } = result.connections;
  return !noneGone(result) && noneOther(failures, is) && noneOther(lost, is);
}

const isOnOpenOnly = ({ received, lostDisconnected }: Batch) => received > 0 && lostDisconnected === 0;

/** 0 where it is written in a way that only the engine reads. */
function shortestTimeoutMs({ environment: { settings } }: Measured): number {
  const given = { ...TIMEOUTS_SECONDS, ...(settings.engineOptions as object | undefined) };
  return Math.min(...[given.connectTimeout, given.timeout].map((one) => 1000 * (Number(one) || 0)));
}

/** Returns whether every lost connection missed a ping, which came later than the standstill that caused it was long. */
function missedPingsInIt({ cause, result }: Evidence): boolean {
  const { lost } = result.connections;
  const standstillMs = 1000 * (cause.values?.find(({ name }) => name === STANDSTILL)?.value ?? 0);
  const timeoutMs = missedCycle(result)?.timeoutMs ?? Number.POSITIVE_INFINITY;
  return standstillMs >= timeoutMs && noneOther(lost, (reason) => reason === PING_TIMEOUT);
}

/** What lasts only as long as it is seen: it explains effects in its own window, and none that come later. */
export const MOMENTARY: FindingCode[] = [
  ...(['MACHINE_SATURATED', 'GENERATOR_LATE'] as const),
  ...(['WORKERS_SATURATED', 'WORKERS_THROTTLED', 'WORKER_STALLED'] as const),
];

/** What a client waits for after its session is open: the answer of the application. */
const OF_APPLICATION = /^(timeout_namespace|(ack|response|wait)_timeout)$/;
const NOT_UNANSWERED =
  'they did not wait for the application alone, while others connected within a quarter of a time-out';
const FAST_SHARE = 0.25;

/** Returns whether only the answer of the application is missing: sessions opened, and others connected fast. */
function areUnanswered(result: Measured): boolean {
  const { failures, lost, connectMs } = result.connections;
  const isFast = connectMs ? connectMs.max < FAST_SHARE * shortestTimeoutMs(result) : !isLateEnough(result);
  return isFast && total(lost) === 0 && total(failures) > 0 && noneOther(failures, (one) => OF_APPLICATION.test(one));
}

/** Returns whether a busy generator can have caused all failures and losses: none is an answer, or missing from the application alone. */
const areByGenerator = (result: Measured) => allGoneBy(isTimeOut, result) && !areUnanswered(result);

/** Returns whether a busy machine can have made connections time out: one that missed pings shows it by late event loops. */
const areByMachine = (result: Measured) =>
  areByGenerator(result) &&
  fullProcess(result) === undefined &&
  (missedCycle(result) === undefined || isLateEnough(result));

/** Returns whether an event loop of the generator was so late that connections can have timed out by it. */
function isLateEnough(result: Measured): boolean {
  const pings = missedCycle(result);
  const leastMs = pings ? pings.timeoutMs : shortestTimeoutMs(result) * MIN_TIMEOUT_SHARE;
  return longestDelayMs(result) >= leastMs;
}

/** Edges from each cause. An edge holds only if the cause is not later than the effect, and its evidence is there. */
export const CAUSES: Partial<Record<FindingCode, readonly Edge[]>> = {
  IMPOSSIBLE_REPORT: [{ effects: ['MEMBERS_DISAGREE'] }],
  SOURCE_UNREADABLE: [
    { effects: ['READINGS_MISSING', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'] },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      evidence: 'the workers did not let the run publish',
      holds: ({ effect }) => effect.about === 'measurement',
    },
  ],
  SWAPPING: [{ effects: ['READINGS_IMPOSSIBLE'] }],
  MACHINE_SATURATED: [
    { effects: ['GENERATOR_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['READINGS_MISSING'],
      evidence: 'no process of the server ended',
      holds: noneEnded,
    },
    {
      effects: ['RATE_NOT_REACHED'],
      evidence: 'connects did not wait for the server while the generator was on time',
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      evidence: `every failed or lost connection timed out, no process of the server was out of files, and ${NOT_UNANSWERED}`,
      holds: ({ result }) => areByMachine(result),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      evidence: 'no connection failed or was lost, or the machine explains all of these',
      holds: ({ result }) => noneGone(result) || areByMachine(result),
    },
    {
      effects: ['COPIES_LOST'],
      evidence: 'every lost copy is one of a connection that timed out',
      holds: ({ result }) => allGoneBy(isTimeOut, result) && result.delivery?.lostConnected === 0,
    },
    {
      effects: ['QUEUE_GROWS', 'TAIL_CUT', 'BROADCASTS_LATE'],
      evidence: 'the workers had CPU left, and the server did not stand still meanwhile',
      holds: ({ effect, result }) =>
        fullWorkers(result)?.window !== (effect.window ?? 'broadcasts') && stalledServer(result) === undefined,
    },
  ],
  GENERATOR_SILENT: [
    { effects: ['GENERATOR_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS,
  ],
  FLEET_PROCESS_DIED: [
    { effects: ['GENERATOR_FAILED', 'GENERATOR_SILENT', 'GENERATOR_LATE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] },
    { effects: ['MESSAGES_UNACKNOWLEDGED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS,
  ],
  GENERATOR_FAILED: [
    { effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS,
  ],
  GENERATOR_LATE: [
    { effects: ['BROADCASTS_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['RATE_NOT_REACHED'],
      evidence: 'connects did not wait for the server while the generator was on time',
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      evidence: `every failed or lost connection timed out, an event loop was late by a tenth of a time-out, or by the ping timeout, and ${NOT_UNANSWERED}`,
      holds: ({ result }) => areByGenerator(result) && isLateEnough(result),
    },
    {
      effects: ['QUEUE_GROWS'],
      evidence: 'the workers had CPU left, and the queue grew by at most four times the delay of an event loop',
      holds: ({ effect, result }) =>
        fullWorkers(result)?.window !== effect.window &&
        growthSeconds(effect) * 1000 <= MAX_GROWTH * longestDelayMs(result),
    },
  ],
  MEMORY_FULL: [{ effects: ['PROCESS_ENDED', 'DEPLOYMENT_CHANGED'] }],
  WORKERS_SATURATED: [
    { effects: ['WORKER_STALLED', 'RATE_NOT_REACHED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'TAIL_CUT'] },
    { effects: ['BROADCASTS_DELAYED'] },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      evidence: 'every failed or lost connection timed out, or a gateway answered for the server',
      holds: ({ result }) => allGoneBy(isOfSlowServer, result),
    },
  ],
  REDIS_BEHIND: [
    { effects: ['QUEUE_GROWS', 'TAIL_CUT', 'BROADCASTS_DELAYED'] },
    {
      effects: ['COPIES_LOST'],
      evidence:
        'copies are missing on open connections only, on at least as many as a worker holds, and only since its output waited',
      holds: (counts) => lostSinceRedisWaited(counts) && lostByWholeWorker(counts),
    },
  ],
  USERS_SKIPPED: [{ effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] }],
  WORKERS_THROTTLED: [{ effects: ['WORKER_STALLED', 'RATE_NOT_REACHED', 'BROADCASTS_LATE'] }],
  PROCESS_ENDED: [
    { effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'PLATEAUS_UNUSABLE', 'COLLECTION_MISSING'] },
    { effects: ['MEMBERS_DISAGREE', 'WORKER_STALLED', 'PROCESS_APART', 'PROBE_INCOMPLETE'] },
    { effects: ['BROADCASTS_NOT_SENT', 'BROADCASTS_UNCONFIRMED', 'BROADCASTS_DELAYED', 'TAIL_CUT'] },
    {
      effects: ['DEPLOYMENT_CHANGED'],
      evidence: 'only processes of the server, or those that ended, changed',
      holds: onlyEndedChanged,
    },
    {
      effects: ['WORKERS_DISAGREE'],
      evidence: 'the counts differ by no more connections than were cut off or refused',
      holds: differByThoseCutOff,
    },
    {
      effects: ['CONNECTIONS_DROPPED'],
      evidence: 'a process beside Redis ended, and every lost connection was cut off',
      holds: (counts) => endedWithConnections(counts) && allLostWereCutOff(counts),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CLIENTS_REFUSED'],
      evidence:
        'a process beside Redis ended, and every failure is a cut or refused connection, an answer of a gateway, or a time-out',
      holds: (counts) => endedWithConnections(counts) && allFailuresAreCuts(counts),
    },
    {
      effects: ['RUN_INCOMPLETE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'LIMIT_REACHED', 'NOBODY_JOINED'],
      evidence: 'every lost or failed connection is explained',
      holds: onlyCuts,
    },
    {
      effects: ['COPIES_LOST', 'DELIVERY_EVENT_MISSING', ...APART],
      evidence:
        'what is missing was on connections that were cut off, or was sent later, and if only Redis ended, nearly as many connections as a worker holds miss it',
      holds: lostSinceEnd,
    },
    UNANSWERED_ON_LOST,
  ],
  PROCESS_HALTED: [
    { effects: ['WORKER_STALLED', 'READINGS_MISSING', 'COLLECTION_MISSING', 'PROBE_INCOMPLETE', 'REDIS_BEHIND'] },
    { effects: ['RATE_NOT_REACHED', 'DEPLOYMENT_CHANGED'] },
    {
      effects: ['MESSAGES_UNACKNOWLEDGED'],
      evidence: 'the process did not go on',
      holds: ({ measurements }) => measurements.haltedProcesses().some(({ untilUs }) => untilUs === undefined),
    },
    { effects: ['BROADCASTS_NOT_SENT', 'BROADCASTS_UNCONFIRMED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'TAIL_CUT'] },
    { effects: ['BROADCASTS_DELAYED'] },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED', 'CLIENTS_REFUSED', 'TARGET_NOT_REACHED', 'RUN_INCOMPLETE'],
      evidence: 'every lost or failed connection timed out',
      holds: ({ result }) => allGoneBy(isTimeOut, result),
    },
    {
      effects: ['COPIES_LOST', 'DELIVERY_EVENT_MISSING', ...APART],
      evidence: 'what open connections miss was sent while the process stood still, or at most 5 s before',
      holds: lostWhileHalted,
    },
  ],
  DEPLOYMENT_CHANGED: [
    {
      effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'PLATEAUS_UNUSABLE', 'COLLECTION_MISSING'],
    },
    { effects: ['BROADCASTS_NOT_SENT'] },
    {
      effects: ['CONNECTIONS_DROPPED'],
      evidence: 'a part beside Redis changed, and every lost connection was cut off',
      holds: (counts) => carriesConnections(counts) && allLostWereCutOff(counts),
    },
    {
      effects: ['CONNECTIONS_FAILED'],
      evidence: 'a part beside Redis changed, and every failure is a cut or refused connection, or a time-out',
      holds: (counts) => carriesConnections(counts) && allFailuresAreCuts(counts),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      evidence: 'a part beside Redis changed, and every lost or failed connection is explained',
      holds: (counts) => carriesConnections(counts) && onlyCuts(counts),
    },
    {
      effects: ['COPIES_LOST', ...APART],
      evidence:
        'what is missing was on connections that were cut off, or was sent after the part was last unchanged, and if only Redis changed, at least as many connections as a worker holds miss it',
      holds: (counts) => lostSinceChange(counts) && (carriesConnections(counts) || lostByWholeWorker(counts)),
    },
  ],
  WORKER_STALLED: [
    { effects: ['RATE_NOT_REACHED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'TAIL_CUT', 'BROADCASTS_DELAYED'] },
    {
      effects: ['CONNECTIONS_DROPPED'],
      evidence:
        'every lost connection missed a ping, and the standstill was longer than the ping timeout of the handshake',
      holds: missedPingsInIt,
    },
  ],
  RUN_INCOMPLETE: [{ effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE', 'READINGS_MISSING'] }],
  WORKER_URLS_WRONG: [
    { effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'] },
    {
      effects: ['WORKERS_DISAGREE'],
      evidence: 'statistics are old or of other workers, or as many connections are on unknown workers',
      holds: differByUnknownWorkers,
    },
  ],
  LIMIT_REACHED: [{ effects: ['CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'CLIENTS_REFUSED', 'PLATEAUS_UNUSABLE'] }],
  MESSAGES_TOO_LARGE: [
    {
      effects: ['CONNECTIONS_DROPPED', 'CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      evidence: 'as many connections ended by it as failed or were lost',
      holds: ({ result: { connections } }) =>
        sum(tooLarge(connections.ends).map(({ count }) => count)) >=
        Math.max(total(connections.lost), total(connections.failures)),
    },
    { effects: ['MESSAGES_UNACKNOWLEDGED'] },
    OF_NO_CONNECTION,
    LOST_WITH_CONNECTIONS,
  ],
  CONNECTIONS_FAILED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      evidence: 'as many failed as are missing',
      holds: ({ result: { connections } }) => connections.peak + connections.failed >= connections.target,
    },
    OF_NO_CONNECTION,
  ],
  CONNECTIONS_DROPPED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      evidence: 'as many failed or were lost as are missing',
      holds: ({ result: { connections } }) =>
        connections.peak + connections.failed + total(connections.lost) >= connections.target,
    },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      evidence: 'the connections that were to publish them ended for the same reason',
      holds: publishersWereLost,
    },
    OF_NO_CONNECTION,
    LOST_WITH_CONNECTIONS,
    UNANSWERED_ON_LOST,
  ],
  QUEUE_GROWS: [{ effects: ['TAIL_CUT', 'BROADCASTS_DELAYED'] }],
  ACKS_CARRY_ERRORS: [
    {
      effects: ['NOBODY_JOINED', 'DELIVERY_EVENT_MISSING'],
      evidence: 'every acknowledgement carries an error',
      holds: ({ result, measurements }) => {
        const { acks, errors } = acksOf(result, measurements);
        return total(errors) === acks;
      },
    },
  ],
  NOBODY_JOINED: [{ effects: ['DELIVERY_EVENT_MISSING', 'AUDIENCE_DIFFERS'] }],
  DELIVERY_EVENT_MISSING: [OF_NONE_RECEIVED],
  IDS_NOT_SHARED: [
    ofMissing('of which one copy came', (_, batches) => batches.filter((batch) => batch.received <= batch.broadcasts)),
  ],
  IDS_NOT_COUNTED: [OF_NONE_RECEIVED],
  IDS_CHANGED: [{ effects: ['COPIES_LOST', 'COPIES_DUPLICATED', 'AUDIENCE_DIFFERS'] }],
  JOINS_LATE: [{ effects: ['COPIES_LOST'] }],
  ADAPTER_MISSING: [
    { effects: ['MEMBERS_DISAGREE'] },
    ofMissing('that reached the connections of one process, on open connections', (_, batches) =>
      batches.filter(isOnOpenOnly),
    ),
  ],
  AUDIENCE_DIFFERS: [
    ofMissing('that reached the same connections as others', ({ measurements }, batches) =>
      separateGroups(measurements, batches).length > 0
        ? batches.filter(isOnOpenOnly)
        : sameAudience(measurements, batches),
    ),
  ],
  STILL_COUNTED: [{ effects: ['WORKERS_LEAK', 'MACHINE_LEAK'] }],
  CLOCK_UNCERTAIN: [{ effects: ['SENT_AT_UNUSABLE'] }],
};
