/** A planned fault: every connection that it dropped must reconnect. */

import { valuesOf } from '../../../../protocol/result/findings.ts';
import { breakdown, counted, total } from '../../../../report/text/format.ts';
import { type Check, check } from '../../check.ts';

export const fault: Check[] = [
  check('NOT_BACK', ({ fault: found }) => {
    const missing = total(found?.notBack ?? {});
    if (!found || missing === 0) return undefined;
    return {
      message: `${counted(missing, 'connection')} of ${found.dropped} not back from the planned fault (${breakdown(found.notBack)})`,
      values: valuesOf({ 'connections not back': missing, 'dropped connections': found.dropped, ...found.notBack }),
    };
  }),
];
