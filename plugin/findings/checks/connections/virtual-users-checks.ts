/** What virtual users do beside their connections: functions of their flows, other engines, and arrivals that Artillery skipped. */
import { slug } from '../../../../protocol/codes/failure-codes.ts';
import { valuesOf } from '../../../../protocol/result/findings.ts';
import { breakdown, counted, integer, total } from '../../../../report/text/format.ts';
import { type Check, check } from '../../check.ts';
import { byFrequency } from './failure-causes.ts';

export const virtualUsers: Check[] = [
  check('FUNCTION_FAILED', ({ functions, connections: { failureExamples } }) => {
    if (!functions) return undefined;
    const { received, dropped, failures } = functions;
    const failed = total(failures);
    if (failed + dropped === 0) return undefined;
    const [[name] = ['']] = byFrequency(failures);
    const said = failureExamples[`function_${slug(name)}`];
    const words =
      failed > 0 ? [`failed for ${integer(failed)} of ${counted(received, 'event')}: ${breakdown(failures)}`] : [];
    if (dropped > 0)
      words.push(`did not get ${counted(dropped, 'event')}, which came faster than they could take them`);
    return {
      message: `functions ${words.join('; they ')}${said === undefined ? '' : `; the first: ${said}`}`,
      values: valuesOf({ 'failed calls': failed, 'events for functions': received, 'events not handed over': dropped }),
    };
  }),
  check('OTHER_USERS_FAILED', ({ otherUsers }) => {
    const failed = total(otherUsers?.failures ?? {});
    if (!otherUsers || failed === 0) return undefined;
    const { started, failures } = otherUsers;
    return {
      message: `${integer(failed)} of ${counted(started, 'virtual user')} of other engines failed: ${breakdown(failures)}`,
      values: valuesOf({ 'failed virtual users': failed, 'virtual users of other engines': started, ...failures }),
    };
  }),
  check('USERS_SKIPPED', ({ connections: { skipped } }) =>
    skipped > 0
      ? { message: `${skipped} virtual users were skipped`, values: valuesOf({ 'skipped virtual users': skipped }) }
      : undefined,
  ),
];
