/** Distinguishes failed and lost connections by their cause: the generator or the deployment. */
import { generatorFaultOf } from '../../../../protocol/codes/failure-codes.ts';
import type { RunFigures } from '../../check.ts';

type Counts = Record<string, number>;

/** Prefix of the failure codes of virtual users that lost an open connection. */
const LOST = 'disconnected_';

/** Returns failures during the connect or in a step, without failures that are the consequence of a lost connection. */
export function connectOrStepFailures(failures: Counts): Counts {
  return filterCounts(failures, (cause) => !cause.startsWith(LOST));
}

/** Returns failures that are the consequence of a lost connection or namespace. */
export function lossFailures(failures: Counts): Counts {
  return filterCounts(failures, (cause) => cause.startsWith(LOST));
}

/** Returns the failures that the generator did not cause. */
export function deploymentFailures(counts: Counts): Counts {
  return filterCounts(counts, (cause) => generatorFaultOf(cause) === undefined);
}

/**
 * Returns the failures that the generator caused.
 * @param stoppedByUser whether a user stopped the run, which can end fleet processes before their connections close
 */
export function generatorFailures(counts: Counts, stoppedByUser: boolean): Counts {
  const isOfStop = (cause: string) => stoppedByUser && /^fleet[ _]/.test(cause);
  return filterCounts(counts, (cause) => generatorFaultOf(cause) !== undefined && !isOfStop(cause));
}

export function filterCounts(counts: Counts, isMeant: (cause: string) => boolean): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([cause]) => isMeant(cause)));
}

/** Returns the causes of failures with their counts, the most frequent first. */
export function byFrequency(counts: Counts): [cause: string, count: number][] {
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}

type Connections = Pick<RunFigures, 'connections'>;

const LOGIN = '(token|jwt|session|credential|auth|ticket|login|cookie)';
const EXPIRED = new RegExp(`${LOGIN}[^.;]{0,40}expired|expired[^.;]{0,20}${LOGIN}|token_?expired`, 'i');
const REFUSED = /unauthori[sz]ed|not authori[sz]ed|authenticat|(invalid|bad) (token|jwt|session|credential)/i;

const RENEW =
  'give it a longer lifetime than the run, or let each virtual user get its own in an earlier step (`capture`)';

/**
 * Returns the server's text and a suggested fix. Undefined unless the server reports an expired login, or refuses a
 * login that it had accepted before.
 */
export function expiredLogin({ connections }: Connections): { words?: string; fix: string } | undefined {
  const { failureExamples, failures, ends, opened } = connections;
  const ofEnds = ends.flatMap(({ event, eventText, closeText }) => [`${event} ${eventText}`, closeText]);
  const words = [...ofEnds, ...Object.values(failureExamples)].find((text) => EXPIRED.test(text));
  if (words !== undefined)
    return { words, fix: `the login ${opened > 0 ? 'expired during the run' : 'has expired'}: ${RENEW}` };
  const causes = Object.keys(deploymentFailures(connectOrStepFailures(failures)));
  const isRefused = (cause: string) => cause === 'http_401' || REFUSED.test(failureExamples[cause] ?? '');
  return causes.length > 0 && causes.every(isRefused) && wasAccepted(connections)
    ? { fix: `the server had accepted this login before: if it expired during the run, ${RENEW}` }
    : undefined;
}

/** Returns whether all connections until some moment succeeded and all later connections failed. */
function wasAccepted({ overTime }: RunFigures['connections']): boolean {
  if (!overTime) return false;
  const { opened, failed } = overTime;
  const last = opened.findLastIndex((count) => count > 0);
  return (
    last >= 0 &&
    failed.slice(last + 1).some((count) => count > 0) &&
    failed.slice(0, last).every((count) => count === 0)
  );
}

/**
 * Pattern of failures that are timeouts. A slow machine can cause timeouts, whether it runs the generator or the
 * server.
 */
const TIMED_OUT = /timeout|^ETIMEDOUT$/;
/** Pattern of gateway errors that mean that the server is slow or unreachable. */
const GATEWAY = /^http_5\d\d$/;

const CUT_OFF =
  /^(disconnected_)?transport[ _](close|error)$|^disconnected$|^closed(_1006)?$|^E(CONNREFUSED|CONNRESET|PIPE)$/;

export const isTimeoutCause = (cause: string) => TIMED_OUT.test(cause);

export const isSlowServerCause = (cause: string) => TIMED_OUT.test(cause) || GATEWAY.test(cause);

export const isCutOffCause = (cause: string) => CUT_OFF.test(cause) || isSlowServerCause(cause);
