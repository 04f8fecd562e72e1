/** Evidence of connections that timed out: whether a busy generator, or its machine, can have caused it. */
import { fullProcess } from '../../../report/figures/limits.ts';
import { total } from '../../../report/text/format.ts';
import type { Measured } from '../check.ts';
import { isTimeOut } from '../checks/connections/cut-off.ts';
import { missedCycle } from '../checks/connections/pings.ts';
import { longestDelayMs, noneOther } from '../evidence.ts';

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
