/**
 * Part of the causal graph of findings (problems that a report lists): edges between findings about the deployment's
 * processes and its machine.
 */
import type { Finding } from '../../../protocol/result/findings.ts';
import { STANDSTILL_VALUE } from '../../../report/figures/stalls.ts';
import { METRICS_PAGE, SERVER_PROCESSES } from '../../run/measurements/observations.ts';
import type { ChangedPart } from '../../run/measurements/worker-identity.ts';
import { isSlowServerCause, isTimeoutCause } from '../checks/connections/failure-causes.ts';
import { missedPingCycle, PING_TIMEOUT } from '../checks/connections/pings.ts';
import {
  allFailuresAreCuts,
  allLostWereCutOff,
  countsDifferByCutOff,
  countsDifferByUnknownWorkers,
  type EvidenceFigures,
  endedWithConnections,
  lostByWholeWorker,
  lostSinceDeploymentChange,
  lostSinceProcessEnded,
  lostSinceRedisWaited,
  lostWhileProcessHalted,
  noOtherCause,
  onlyCuts,
} from '../evidence.ts';
import {
  allFailedOrLostBy,
  type CauseEdges,
  type CauseEvidence,
  UNACKNOWLEDGED_ON_LOST_EDGE,
  UNREACHED_FINDINGS,
} from './edges.ts';

/** Parts of the deployment whose identity changes when a process of the server exits. */
const OF_SERVER: string[] = [SERVER_PROCESSES, METRICS_PAGE];
/**
 * Returns whether the exit of a process, which the run observed, explains each changed part of the deployment. If Redis
 * does not answer, that must also be explained.
 */
function onlyEndedChanged({ measurements: { observations, endedProcesses } }: EvidenceFigures): boolean {
  const ended = new Set(endedProcesses().map(({ layer }) => layer));
  const changed = observations.of('partsChanged').flatMap(({ parts }) => parts);
  const isOfEnded = ({ name, layer }: ChangedPart) => OF_SERVER.includes(name) || ended.has(layer);
  return changed.every(isOfEnded) && (ended.has('redis') || !observations.has('redisSilent'));
}

/** Returns whether a part of the deployment other than Redis changed. Redis holds no connections of clients. */
const carriesConnections = ({ measurements: { observations, silentWorkers } }: EvidenceFigures) =>
  silentWorkers.length > 0 ||
  observations.of('partsChanged').some(({ parts }) => parts.some(({ layer }) => layer !== 'redis'));

/**
 * Minimum length of a standstill in seconds. A shorter standstill ends before a confirmation or a round trip times out.
 */
const UNANSWERED_STANDSTILL_SECONDS = 10;

const standstillSeconds = ({ values = [] }: Pick<Finding, 'values'>) =>
  Math.max(0, ...values.filter(({ name }) => name === STANDSTILL_VALUE).map(({ value }) => value));

/**
 * Returns whether every lost connection missed a ping, and whether the server's standstill was long enough to cause
 * that.
 */
function missedPingsInIt({ cause, result }: CauseEvidence): boolean {
  const { lost } = result.connections;
  const standstillMs = 1000 * standstillSeconds(cause);
  const timeoutMs = missedPingCycle(result)?.timeoutMs ?? Number.POSITIVE_INFINITY;
  return standstillMs >= timeoutMs && noOtherCause(lost, (reason) => reason === PING_TIMEOUT);
}

export const DEPLOYMENT_CAUSES: CauseEdges = {
  MEMORY_FULL: [{ effects: ['PROCESS_ENDED', 'DEPLOYMENT_CHANGED'] }],
  WORKERS_SATURATED: [
    { effects: ['WORKER_STALLED', 'RATE_NOT_REACHED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'DRAIN_TOO_SHORT'] },
    { effects: ['BROADCASTS_DELAYED'] },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      holds: ({ result }) => allFailedOrLostBy(isSlowServerCause, result),
    },
  ],
  REDIS_BEHIND: [
    { effects: ['QUEUE_GROWS', 'DRAIN_TOO_SHORT', 'BROADCASTS_DELAYED'] },
    {
      effects: ['COPIES_LOST', 'ADAPTER_INTERRUPTED'],
      holds: (counts) => lostSinceRedisWaited(counts) && lostByWholeWorker(counts),
    },
  ],
  USERS_SKIPPED: [{ effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] }],
  WORKERS_THROTTLED: [{ effects: ['WORKER_STALLED', 'RATE_NOT_REACHED', 'BROADCASTS_LATE'] }],
  PROCESS_ENDED: [
    { effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'PLATEAUS_UNUSABLE', 'COLLECTION_MISSING'] },
    { effects: ['MEMBERS_DISAGREE', 'WORKER_STALLED', 'PROCESS_WITHOUT_CONNECTIONS', 'PROBE_INCOMPLETE'] },
    { effects: ['BROADCASTS_NOT_SENT', 'BROADCASTS_UNCONFIRMED', 'BROADCASTS_DELAYED', 'DRAIN_TOO_SHORT'] },
    {
      effects: ['DEPLOYMENT_CHANGED'],
      holds: onlyEndedChanged,
    },
    {
      effects: ['WORKERS_DISAGREE'],
      holds: countsDifferByCutOff,
    },
    {
      effects: ['CONNECTIONS_DROPPED'],
      holds: (counts) => endedWithConnections(counts) && allLostWereCutOff(counts),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CLIENTS_REFUSED'],
      holds: (counts) => endedWithConnections(counts) && allFailuresAreCuts(counts),
    },
    {
      effects: ['RUN_INCOMPLETE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'LIMIT_REACHED', 'NO_MEMBERS'],
      holds: onlyCuts,
    },
    {
      effects: ['COPIES_LOST', 'DELIVERY_EVENT_MISSING', ...UNREACHED_FINDINGS],
      holds: lostSinceProcessEnded,
    },
    UNACKNOWLEDGED_ON_LOST_EDGE,
  ],
  PROCESS_HALTED: [
    { effects: ['WORKER_STALLED', 'READINGS_MISSING', 'COLLECTION_MISSING', 'PROBE_INCOMPLETE', 'REDIS_BEHIND'] },
    { effects: ['RATE_NOT_REACHED', 'DEPLOYMENT_CHANGED'] },
    {
      effects: ['MESSAGES_UNACKNOWLEDGED'],
      holds: ({ measurements }) => measurements.haltedProcesses().some(({ untilUs }) => untilUs === undefined),
    },
    { effects: ['BROADCASTS_NOT_SENT', 'BROADCASTS_UNCONFIRMED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'DRAIN_TOO_SHORT'] },
    { effects: ['BROADCASTS_DELAYED'] },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED', 'CLIENTS_REFUSED', 'TARGET_NOT_REACHED', 'RUN_INCOMPLETE'],
      holds: ({ result }) => allFailedOrLostBy(isTimeoutCause, result),
    },
    {
      effects: ['COPIES_LOST', 'DELIVERY_EVENT_MISSING', ...UNREACHED_FINDINGS],
      holds: lostWhileProcessHalted,
    },
  ],
  DEPLOYMENT_CHANGED: [
    {
      effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'PLATEAUS_UNUSABLE', 'COLLECTION_MISSING'],
    },
    { effects: ['BROADCASTS_NOT_SENT'] },
    {
      effects: ['CONNECTIONS_DROPPED'],
      holds: (counts) => carriesConnections(counts) && allLostWereCutOff(counts),
    },
    {
      effects: ['CONNECTIONS_FAILED'],
      holds: (counts) => carriesConnections(counts) && allFailuresAreCuts(counts),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      holds: (counts) => carriesConnections(counts) && onlyCuts(counts),
    },
    {
      effects: ['COPIES_LOST', ...UNREACHED_FINDINGS],
      holds: (counts) => lostSinceDeploymentChange(counts) && (carriesConnections(counts) || lostByWholeWorker(counts)),
    },
  ],
  WORKER_STALLED: [
    { effects: ['RATE_NOT_REACHED', 'BROADCASTS_LATE', 'QUEUE_GROWS', 'DRAIN_TOO_SHORT', 'BROADCASTS_DELAYED'] },
    {
      effects: ['BROADCASTS_UNCONFIRMED', 'PROBE_INCOMPLETE'],
      holds: ({ cause, effect }) =>
        cause.window === effect.window && standstillSeconds(cause) >= UNANSWERED_STANDSTILL_SECONDS,
    },
    {
      effects: ['CONNECTIONS_DROPPED'],
      holds: missedPingsInIt,
    },
  ],
  RUN_INCOMPLETE: [{ effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE', 'READINGS_MISSING'] }],
  WORKER_URLS_WRONG: [
    { effects: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'] },
    {
      effects: ['WORKERS_DISAGREE'],
      holds: countsDifferByUnknownWorkers,
    },
  ],
};
