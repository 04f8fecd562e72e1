/** A login that the server no longer accepts: by its own words, or because it let nobody in any more. */
import type { Measured } from '../../check.ts';
import { ofDeployment, withoutLosses } from './failure-causes.ts';

type Connections = Pick<Measured, 'connections'>;

const LOGIN = '(token|jwt|session|credential|auth|ticket|login|cookie)';
const EXPIRED = new RegExp(`${LOGIN}[^.;]{0,40}expired|expired[^.;]{0,20}${LOGIN}|token_?expired`, 'i');
const REFUSED = /unauthori[sz]ed|not authori[sz]ed|authenticat|(invalid|bad) (token|jwt|session|credential)/i;

const RENEW =
  'give it a longer lifetime than the run, or let each virtual user get its own in an earlier step (`capture`)';

/** @returns the server's words and the fix; undefined unless it said that a login expired, or refused it after it had accepted it */
export function expiredLogin({ connections }: Connections): { words?: string; fix: string } | undefined {
  const { failureExamples, failures, ends, opened } = connections;
  const ofEnds = ends.flatMap(({ event, eventText, words }) => [`${event} ${eventText}`, words]);
  const words = [...ofEnds, ...Object.values(failureExamples)].find((text) => EXPIRED.test(text));
  if (words !== undefined)
    return { words, fix: `the login ${opened > 0 ? 'expired during the run' : 'has expired'}: ${RENEW}` };
  const causes = Object.keys(ofDeployment(withoutLosses(failures)));
  const isRefused = (cause: string) => cause === 'http_401' || REFUSED.test(failureExamples[cause] ?? '');
  return causes.length > 0 && causes.every(isRefused) && wasAccepted(connections)
    ? { fix: `the server had accepted this login before: if it expired during the run, ${RENEW}` }
    : undefined;
}

/** @returns whether all came in until some moment, and nobody afterwards */
function wasAccepted({ overTime }: Measured['connections']): boolean {
  if (!overTime) return false;
  const { opened, failed } = overTime;
  const last = opened.findLastIndex((count) => count > 0);
  return (
    last >= 0 &&
    failed.slice(last + 1).some((count) => count > 0) &&
    failed.slice(0, last).every((count) => count === 0)
  );
}
