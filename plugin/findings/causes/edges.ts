/** Edges of the causal graph, edges that several causes share, and evidence of timeouts. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Batch } from '../../../protocol/result/delivery-schema.ts';
import type { Finding } from '../../../protocol/result/findings.ts';
import { fullProcess } from '../../../report/figures/limits.ts';
import { total } from '../../../report/text/format.ts';
import type { Measured } from '../check.ts';
import { isTimeOut } from '../checks/connections/failure-causes.ts';
import { missedCycle } from '../checks/connections/pings.ts';
import { areMostMissing, type Counts, longestDelayMs, noneOther, onlyOnLostConnections } from '../evidence.ts';

export interface Evidence extends Counts {
  cause: Finding;
  effect: Finding;
}

export interface Edge {
  effects: readonly FindingCode[];
  /** Condition in addition to the order in time. */
  holds?(evidence: Evidence): boolean;
}

/** Edges from each cause. */
export type Causes = Partial<Record<FindingCode, readonly Edge[]>>;

/** Findings about copies that the same connections miss each time. */
export const APART = ['AUDIENCE_DIFFERS', 'ADAPTER_MISSING', 'ADAPTER_INTERRUPTED'] as const satisfies FindingCode[];

export const LOST_WITH_CONNECTIONS: Edge = {
  effects: ['COPIES_LOST'],
  holds: onlyOnLostConnections,
};

/** Edges of missing connections: without connections, nothing can be received or measured. */
export const OF_NO_CONNECTION: Edge = {
  effects: ['NOBODY_JOINED', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
  holds: ({ result: { connections } }) => connections.peak === 0 || total(connections.lost) >= connections.opened,
};

export const UNANSWERED_ON_LOST: Edge = {
  effects: ['MESSAGES_UNACKNOWLEDGED'],
  holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
};

/**
 * @param rows returns the broadcasts that the cause explains
 * @returns the edge of a cause that is recognized by its missing copies
 */
export function ofMissing(rows: (counts: Counts, batches: Batch[]) => Batch[]): Edge {
  return {
    effects: ['COPIES_LOST'],
    holds: (counts) => areMostMissing(rows(counts, counts.result.delivery?.batches ?? []), counts),
  };
}

export const OF_NONE_RECEIVED = ofMissing((_, batches) => batches.filter((batch) => batch.received === 0));

/** Default timeouts of the engine. */
const TIMEOUTS_SECONDS = { connectTimeout: 20, timeout: 10 };
/** Minimum delay as a share of a timeout; a shorter delay causes no timeout. */
const MIN_TIMEOUT_SHARE = 0.1;
export const noneGone = ({ connections: { failures, lost } }: Measured) => total(failures) + total(lost) === 0;

/** Returns whether connections failed or were lost, all by causes that `is` accepts. */
export function allGoneBy(is: (cause: string) => boolean, result: Measured): boolean {
  const { failures, lost } = result.connections;
  return !noneGone(result) && noneOther(failures, is) && noneOther(lost, is);
}

/** Returns the shortest timeout; 0 if it is written in a form that only the engine parses. */
function shortestTimeoutMs({ environment: { settings } }: Measured): number {
  const given = { ...TIMEOUTS_SECONDS, ...(settings.engineOptions as object | undefined) };
  return Math.min(...[given.connectTimeout, given.timeout].map((one) => 1000 * (Number(one) || 0)));
}

/** Failure codes of timeouts after the session has opened, when a client waits for the application. */
const OF_APPLICATION = /^(timeout_namespace|(ack|response|wait)_timeout)$/;
const FAST_SHARE = 0.25;

/** Returns whether only the application's answers are missing: sessions opened, and some connections succeeded quickly. */
function areUnanswered(result: Measured): boolean {
  const { failures, lost, connectMs } = result.connections;
  const isFast = connectMs ? connectMs.max < FAST_SHARE * shortestTimeoutMs(result) : !isLateEnough(result);
  return isFast && total(lost) === 0 && total(failures) > 0 && noneOther(failures, (one) => OF_APPLICATION.test(one));
}

/**
 * Returns whether a busy generator can have caused all failures and losses: all are timeouts, and not only the application's answers are
 * missing.
 */
export const areByGenerator = (result: Measured) => allGoneBy(isTimeOut, result) && !areUnanswered(result);

/** Returns whether a busy machine can have made connections time out. If pings were missed, the event loops must be late as well. */
export const areByMachine = (result: Measured) =>
  areByGenerator(result) &&
  fullProcess(result) === undefined &&
  (missedCycle(result) === undefined || isLateEnough(result));

/** Returns whether an event loop of the generator was late enough to make connections time out. */
export function isLateEnough(result: Measured): boolean {
  const pings = missedCycle(result);
  const leastMs = pings ? pings.timeoutMs : shortestTimeoutMs(result) * MIN_TIMEOUT_SHARE;
  return longestDelayMs(result) >= leastMs;
}
