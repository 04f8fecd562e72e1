import type { Result } from '../../protocol/result/result.ts';
import { percentilesText, tailOf } from '../model/names.ts';
import { integer, percentOf } from '../text/format.ts';
import { figureOf, type Line } from './line.ts';

export function messageLines({ messages: found }: Result): Line[] {
  if (found === null) return [];
  const { ackMs, answered, acknowledged, sent, unasked } = found;
  if (!ackMs || answered === null) return [];
  const { ms, percentile } = tailOf(ackMs);
  const asked = sent - unasked;
  const all = `${answered === 1 ? 'all' : `${percentOf(acknowledged, asked)} of the`} client messages`;
  return [
    {
      text: `${all} acknowledged: ${percentilesText(ackMs)}`,
      figure: figureOf(
        `messages.ackMs.${percentile}`,
        ms,
        percentilesText(ackMs),
        `Time to acknowledgement ${percentile}`,
      ),
    },
    {
      text: null,
      figure: figureOf('messages.answered', answered, `${integer(acknowledged)} of ${integer(asked)}`),
    },
  ];
}
