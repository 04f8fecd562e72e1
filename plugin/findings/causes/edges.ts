/** Types of the causal graph of findings, edges that several causes share, and conditions about timeouts. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { BroadcastBatch } from '../../../protocol/result/delivery-schema.ts';
import type { Finding } from '../../../protocol/result/findings.ts';
import { fullProcess } from '../../../report/figures/limits.ts';
import { totalOfCounts } from '../../../report/text/format.ts';
import type { RunFigures } from '../check.ts';
import { isTimeoutCause } from '../checks/connections/failure-causes.ts';
import { missedPingCycle } from '../checks/connections/pings.ts';
import {
  areMostMissingCopies,
  type EvidenceFigures,
  longestDelayMs,
  noOtherCause,
  onlyOnLostConnections,
} from '../evidence.ts';

export interface CauseEvidence extends EvidenceFigures {
  cause: Finding;
  effect: Finding;
}

export interface CauseEdge {
  effects: readonly FindingCode[];
  /** Condition under which the edge holds, in addition to the order in time. */
  holds?(evidence: CauseEvidence): boolean;
}

/** Edges of the causal graph, by the code of the finding that is the cause. */
export type CauseEdges = Partial<Record<FindingCode, readonly CauseEdge[]>>;

/** Codes of findings about copies that never reach some of the connections. */
export const UNREACHED_FINDINGS = [
  'AUDIENCE_DIFFERS',
  'ADAPTER_MISSING',
  'ADAPTER_INTERRUPTED',
] as const satisfies FindingCode[];

export const LOST_WITH_CONNECTIONS_EDGE: CauseEdge = {
  effects: ['COPIES_LOST'],
  holds: onlyOnLostConnections,
};

/**
 * Edges from a finding about missing connections to other findings: without connections, nothing can be received or
 * measured.
 */
export const NO_CONNECTIONS_EDGES: CauseEdge = {
  effects: ['NO_MEMBERS', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
  holds: ({ result: { connections } }) =>
    connections.peak === 0 || totalOfCounts(connections.lost) >= connections.opened,
};

export const UNACKNOWLEDGED_ON_LOST_EDGE: CauseEdge = {
  effects: ['MESSAGES_UNACKNOWLEDGED'],
  holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
};

/**
 * Returns an edge from a cause to lost copies. The edge holds if the cause explains the broadcasts to which most lost
 * copies belong.
 * @param rows returns the broadcasts that the cause explains
 */
export function missingCopiesEdge(
  rows: (counts: EvidenceFigures, batches: BroadcastBatch[]) => BroadcastBatch[],
): CauseEdge {
  return {
    effects: ['COPIES_LOST'],
    holds: (counts) => areMostMissingCopies(rows(counts, counts.result.delivery?.batches ?? []), counts),
  };
}

export const UNRECEIVED_COPIES_EDGE = missingCopiesEdge((_, batches) =>
  batches.filter((batch) => batch.received === 0),
);

/** Default timeouts of this project's Artillery engine, in seconds. */
const TIMEOUTS_SECONDS = { connectTimeout: 20, timeout: 10 };
/** Minimum length of a delay that can cause a timeout, as a share of the timeout. */
const MIN_TIMEOUT_SHARE = 0.1;
export const noneFailedOrLost = ({ connections: { failures, lost } }: RunFigures) =>
  totalOfCounts(failures) + totalOfCounts(lost) === 0;

/** Returns whether some connections failed or were lost, and whether `is` returns true for all of their causes. */
export function allFailedOrLostBy(is: (cause: string) => boolean, result: RunFigures): boolean {
  const { failures, lost } = result.connections;
  return !noneFailedOrLost(result) && noOtherCause(failures, is) && noOtherCause(lost, is);
}

/** Returns the shortest timeout of the engine; 0 if only the engine can parse it. */
function shortestTimeoutMs({ environment: { settings } }: RunFigures): number {
  const given = { ...TIMEOUTS_SECONDS, ...(settings.engineOptions as object | undefined) };
  return Math.min(...[given.connectTimeout, given.timeout].map((one) => 1000 * (Number(one) || 0)));
}

/** Pattern of failure codes for timeouts while a client waits for the application, after its session has opened. */
const OF_APPLICATION = /^(timeout_namespace|(ack|response|wait)_timeout)$/;
const FAST_SHARE = 0.25;

/** Returns whether only the application does not answer: sessions opened, and some connections succeeded quickly. */
function areUnanswered(result: RunFigures): boolean {
  const { failures, lost, connectMs } = result.connections;
  const isFast = connectMs ? connectMs.max < FAST_SHARE * shortestTimeoutMs(result) : !wasGeneratorLate(result);
  return (
    isFast &&
    totalOfCounts(lost) === 0 &&
    totalOfCounts(failures) > 0 &&
    noOtherCause(failures, (one) => OF_APPLICATION.test(one))
  );
}

/**
 * Returns whether a busy generator can have caused all failed and lost connections: all of them are timeouts, and the
 * application is not the only part that did not answer.
 */
export const isCausedByGenerator = (result: RunFigures) =>
  allFailedOrLostBy(isTimeoutCause, result) && !areUnanswered(result);

/**
 * Returns whether a busy machine can have caused the timeouts of connections. If connections missed pings, the
 * generator's event loops must have been late, too.
 */
export const isCausedByMachine = (result: RunFigures) =>
  isCausedByGenerator(result) &&
  fullProcess(result) === undefined &&
  (missedPingCycle(result) === undefined || wasGeneratorLate(result));

/** Returns whether the delay of one of the generator's event loops was long enough to make connections time out. */
export function wasGeneratorLate(result: RunFigures): boolean {
  const pings = missedPingCycle(result);
  const leastMs = pings ? pings.timeoutMs : shortestTimeoutMs(result) * MIN_TIMEOUT_SHARE;
  return longestDelayMs(result) >= leastMs;
}
