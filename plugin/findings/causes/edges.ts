/** Edges of the causal graph, edges that several causes share, and evidence of connections that timed out. */
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
  /** Condition beside the order in time. */
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

/** Without connections, nothing can be received or measured. */
export const OF_NO_CONNECTION: Edge = {
  effects: ['NOBODY_JOINED', 'CLIENTS_REFUSED', 'DELIVERY_EVENT_MISSING', 'PLATEAUS_UNUSABLE'],
  holds: ({ result: { connections } }) => connections.peak === 0 || total(connections.lost) >= connections.opened,
};

export const UNANSWERED_ON_LOST: Edge = {
  effects: ['MESSAGES_UNACKNOWLEDGED'],
  holds: ({ result: { messages } }) => messages?.unansweredConnected === 0,
};

/** @returns the edge of a cause that is found by the copies that are missing @param rows broadcasts in which it is */
export function ofMissing(rows: (counts: Counts, batches: Batch[]) => Batch[]): Edge {
  return {
    effects: ['COPIES_LOST'],
    holds: (counts) => areMostMissing(rows(counts, counts.result.delivery?.batches ?? []), counts),
  };
}

export const OF_NONE_RECEIVED = ofMissing((_, batches) => batches.filter((batch) => batch.received === 0));

/** The engine's defaults. */
const TIMEOUTS_SECONDS = { connectTimeout: 20, timeout: 10 };
/** A delay of less than this share of a time-out ends nothing. */
const MIN_TIMEOUT_SHARE = 0.1;
export const noneGone = ({ connections: { failures, lost } }: Measured) => total(failures) + total(lost) === 0;

/** Returns whether connections failed or were lost, each of them for such a cause. */
export function allGoneBy(is: (cause: string) => boolean, result: Measured): boolean {
  const { failures, lost } = result.connections;
  return !noneGone(result) && noneOther(failures, is) && noneOther(lost, is);
}

/** 0 where it is written in a way that only the engine reads. */
function shortestTimeoutMs({ environment: { settings } }: Measured): number {
  const given = { ...TIMEOUTS_SECONDS, ...(settings.engineOptions as object | undefined) };
  return Math.min(...[given.connectTimeout, given.timeout].map((one) => 1000 * (Number(one) || 0)));
}

/** Time-outs after the session is open, when a client waits for the application. */
const OF_APPLICATION = /^(timeout_namespace|(ack|response|wait)_timeout)$/;
const FAST_SHARE = 0.25;

/** Returns whether only the answer of the application is missing: sessions opened, and others connected fast. */
function areUnanswered(result: Measured): boolean {
  const { failures, lost, connectMs } = result.connections;
  const isFast = connectMs ? connectMs.max < FAST_SHARE * shortestTimeoutMs(result) : !isLateEnough(result);
  return isFast && total(lost) === 0 && total(failures) > 0 && noneOther(failures, (one) => OF_APPLICATION.test(one));
}

/** Returns whether a busy generator can have caused all failures and losses: none is an answer, or missing from the application alone. */
export const areByGenerator = (result: Measured) => allGoneBy(isTimeOut, result) && !areUnanswered(result);

/** Returns whether a busy machine can have made connections time out: one that missed pings shows it by late event loops. */
export const areByMachine = (result: Measured) =>
  areByGenerator(result) &&
  fullProcess(result) === undefined &&
  (missedCycle(result) === undefined || isLateEnough(result));

/** Returns whether an event loop of the generator was so late that connections can have timed out by it. */
export function isLateEnough(result: Measured): boolean {
  const pings = missedCycle(result);
  const leastMs = pings ? pings.timeoutMs : shortestTimeoutMs(result) * MIN_TIMEOUT_SHARE;
  return longestDelayMs(result) >= leastMs;
}
