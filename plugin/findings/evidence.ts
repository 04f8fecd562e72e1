/** Checks with the run's own counts whether one finding can be the cause of another finding. */
import type { BroadcastBatch } from '../../protocol/result/delivery-schema.ts';
import { totalOfCounts } from '../../report/text/format.ts';
import { unknownWorkers } from '../result/assemble-workers.ts';
import { sum } from '../result/sums.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { METRICS_PAGE, type ObservedFacts, WRONG_COUNTS } from '../run/measurements/observations.ts';
import type { RunFigures } from './check.ts';
import { connectOrStepFailures, deploymentFailures, isCutOffCause } from './checks/connections/failure-causes.ts';
import { maxServerCount } from './checks/delivery/adapter-checks.ts';
import { endedAtSeconds, holdsConnections } from './checks/server/ended-processes-checks.ts';
import { changedWorkers } from './checks/server/ended-workers.ts';
import { redisWaitedSince } from './checks/server/saturation-checks.ts';

/** Figures of a run that can show that something is not the cause of a finding. */
export interface EvidenceFigures {
  result: RunFigures;
  measurements: Measurements;
}

const NEARLY_ALL = 0.9;
/** Smallest number of connections that a worker may hold, relative to an equal share for all workers. */
const MIN_SHARE_OF_WORKER = 0.8;
/** Maximum time in seconds from the send of a copy to the end of the process that lost the copy. */
const IN_FLIGHT_SECONDS = 5;

export const noOtherCause = (counts: Record<string, number>, is: (cause: string) => boolean) =>
  Object.entries(counts).every(([cause, count]) => count === 0 || is(cause));

const all = (counts: Record<string, number>, is: (cause: string) => boolean) =>
  totalOfCounts(counts) > 0 && noOtherCause(counts, is);

export function allLostWereCutOff({ result }: EvidenceFigures): boolean {
  return all(deploymentFailures(result.connections.lost), isCutOffCause);
}

export function allFailuresAreCuts({ result }: EvidenceFigures): boolean {
  return all(deploymentFailures(result.connections.failures), isCutOffCause);
}

/** Returns whether all failed and lost connections have failure codes for a drop, a refusal or a timeout. */
export function onlyCuts({ result: { connections } }: EvidenceFigures): boolean {
  return (
    noOtherCause(deploymentFailures(connections.lost), isCutOffCause) &&
    noOtherCause(deploymentFailures(connections.failures), isCutOffCause)
  );
}

export function onlyOnLostConnections({ result: { delivery } }: EvidenceFigures): boolean {
  return delivery?.lostConnected === 0;
}

export function noProcessEnded({ measurements }: EvidenceFigures): boolean {
  return firstEnd(measurements) === Number.POSITIVE_INFINITY;
}

/** Maximum ratio of a delay to the generator's longest event loop delay. A longer delay has another cause. */
export const MAX_DELAY_RATIO = 4;

/** Returns the longest delay among the generator's event loops; 0 if no delays were recorded. */
export function longestDelayMs({ generator }: Pick<RunFigures, 'generator'>): number {
  return Math.max(0, ...generator.map(({ delayMaxMs }) => delayMaxMs));
}

/** Returns whether the publishers' connections closed for the same reasons as other lost connections of the run. */
export function publishersWereLost({ result: { connections }, measurements: { unsent } }: EvidenceFigures): boolean {
  return unsent.length > 0 && unsent.every(({ publisherEnd = '' }) => (connections.lost[publisherEnd] ?? 0) > 0);
}

/** Returns whether processes that ended explain the missing copies. */
export function lostSinceProcessEnded(counts: EvidenceFigures): boolean {
  return (
    lostSince(firstEnd(counts.measurements), counts) && (endedWithConnections(counts) || lostByWholeWorker(counts))
  );
}

/** Returns whether one of the ended processes may have held connections of clients. Redis holds none. */
export function endedWithConnections({ measurements }: EvidenceFigures): boolean {
  const ended = measurements.endedProcesses();
  return ended.length === 0 || ended.some(holdsConnections);
}

/**
 * Returns whether all missing copies belong to broadcasts that were sent while a process was halted, or just before.
 */
export function lostWhileProcessHalted(counts: EvidenceFigures): boolean {
  const halts = counts.measurements
    .haltedProcesses()
    .map(({ sinceUs, untilUs }) =>
      [sinceUs, untilUs].map((atUs) =>
        atUs === undefined ? undefined : endedAtSeconds({ atUs }, counts.measurements),
      ),
    );
  const { batches = [] } = counts.result.delivery ?? {};
  return batches.every(
    ({ lostConnected, t }) =>
      lostConnected === 0 ||
      t === null ||
      halts.some(([since = 0, until = Number.POSITIVE_INFINITY]) => t >= since - IN_FLIGHT_SECONDS && t <= until),
  );
}

/**
 * Returns whether copies are missing only at open connections, and only since Redis had to buffer output for the
 * workers.
 */
export function lostSinceRedisWaited(counts: EvidenceFigures): boolean {
  return counts.result.delivery?.lostDisconnected === 0 && lostSince(redisWaitedSince(counts.result), counts);
}

/**
 * Returns whether as many connections lost copies as a worker holds. A loss in Redis affects all connections of a
 * worker.
 */
export function lostByWholeWorker({ result, measurements }: EvidenceFigures): boolean {
  const { losses } = result.delivery ?? {};
  if (!losses) return true;
  const held = Object.values(result.connections.perWorker);
  const share = (MIN_SHARE_OF_WORKER * losses.members) / Math.max(1, maxServerCount(result, measurements));
  return losses.losers >= (held.length > 0 ? Math.min(...held, losses.members) : share);
}

/** Returns whether at least 90 % of all missing copies belong to the given broadcasts. */
export function areMostMissingCopies(rows: BroadcastBatch[], { result: { delivery } }: EvidenceFigures): boolean {
  const missing = (some: BroadcastBatch[]) =>
    sum(some.map(({ lostConnected, lostDisconnected }) => lostConnected + lostDisconnected));
  return missing(rows) >= NEARLY_ALL * missing(delivery?.batches ?? []);
}

/** Returns whether changed parts of the deployment explain the missing copies. */
export function lostSinceDeploymentChange(counts: EvidenceFigures): boolean {
  const { observations, silentWorkers } = counts.measurements;
  const isUndated = observations.has('redisSilent') || silentWorkers.length > 0;
  const since = observations.of('partsChanged').map((fact) => fact.since);
  return lostSince(isUndated ? Number.NEGATIVE_INFINITY : Math.min(...since), counts);
}

/**
 * Returns whether copies at open connections are missing only since the given time, and all lost connections were
 * dropped.
 */
function lostSince(seconds: number, { result: { delivery, connections } }: EvidenceFigures): boolean {
  if (!delivery) return false;
  if (delivery.lostDisconnected > 0 && !noOtherCause(deploymentFailures(connections.lost), isCutOffCause)) return false;
  return delivery.batches.every(
    ({ lostConnected, t }) => lostConnected === 0 || t === null || t >= seconds - IN_FLIGHT_SECONDS,
  );
}

/**
 * Returns the time of the first exit in seconds since the start of the sampler; -Infinity if the time of an exit is
 * unknown.
 */
function firstEnd(measurements: Measurements): number {
  const local = measurements.endedProcesses().map((one) => endedAtSeconds(one, measurements));
  const restarts = changedWorkers(measurements).restarted.map(({ t }) => t);
  const silent = measurements.silentWorkers.map(() => undefined);
  const pages = measurements.observations
    .of('partsChanged')
    .flatMap(({ parts, since }) => (parts.some(({ name }) => name === METRICS_PAGE) ? since : []));
  return Math.min(...[...local, ...restarts, ...silent, ...pages].map((t) => t ?? Number.NEGATIVE_INFINITY));
}

/** Functions that return by how many connections a wrong count differs, by kind of observation. */
const DIFFERENCES: { [K in (typeof WRONG_COUNTS)[number]]: (fact: ObservedFacts[K]) => number } = {
  countsDiffer: ({ counted, held }) => Math.abs(counted - held),
  othersAccepted: ({ connections }) => connections,
  socketsMissing: ({ sockets, held }) => held - sockets,
  othersAtPort: ({ others }) => others,
  // The exit of a process never explains this kind of observation.
  cpuStill: () => Number.POSITIVE_INFINITY,
  joinsMisnamed: () => Number.POSITIVE_INFINITY,
};

function difference({ observations }: Measurements): number {
  const kinds = WRONG_COUNTS.flatMap((kind) => observations.of(kind).map((fact) => DIFFERENCES[kind](fact as never)));
  return Math.max(...kinds);
}

/** Returns whether the wrong counts differ by no more connections than the ended processes can have held or refused. */
export function countsDifferByCutOff({ result: { connections }, measurements }: EvidenceFigures): boolean {
  const gone =
    totalOfCounts(deploymentFailures(connections.lost)) +
    totalOfCounts(connectOrStepFailures(deploymentFailures(connections.failures)));
  const { restarts, silentWorkers, endedProcesses } = measurements;
  // After a host disappears, its connections stay half-open: the generator does not notice that they are closed.
  const held = sum([...restarts.values(), ...silentWorkers].map(({ connections = 0 }) => connections));
  const files = sum(endedProcesses().map(({ openFiles = 0 }) => openFiles));
  return difference(measurements) <= Math.max(gone, held, files);
}

/** Returns whether wrong control URLs explain the difference between the counts. */
export function countsDifferByUnknownWorkers({ measurements }: EvidenceFigures): boolean {
  const { observations } = measurements;
  if (observations.has('statisticsRepeated') || changedWorkers(measurements).elsewhere.length > 0) return true;
  const isOfPages = observations.has('pagesRepeated', 'pagesShared', 'pagesAlternate') && observations.has('cpuStill');
  return isOfPages || difference(measurements) <= totalOfCounts(unknownWorkers(measurements));
}
