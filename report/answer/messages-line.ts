import type { Result } from '../../protocol/result/result.ts';
import { withUnit } from '../model/amount.ts';
import { tailOf } from '../model/names.ts';
import { integer, percentOf } from '../text/format.ts';
import { figureOf, type Line } from './line.ts';

export function messageLines({ messages: found }: Result): Line[] {
  if (found === null) return [];
  const { ackMs, answered, acknowledged, sent, unasked } = found;
  if (!ackMs || answered === null) return [];
  const { share: below, ms, percentile } = tailOf(ackMs);
  const asked = sent - unasked;
  const all = answered === 1 ? 'all messages of clients' : `${percentOf(acknowledged, asked)} of the clients’ messages`;
  return [
    {
      text: `${all} acknowledged, ${below} within ${withUnit('milliseconds', ms)}`,
      figure: figureOf(
        `messages.ackMs.${percentile}`,
        ms,
        `${below} of them; half within ${withUnit('milliseconds', ackMs.p50)}`,
        'Messages acknowledged within',
      ),
    },
    {
      text: null,
      figure: figureOf('messages.answered', answered, `${integer(acknowledged)} of ${integer(asked)}`),
    },
  ];
}
