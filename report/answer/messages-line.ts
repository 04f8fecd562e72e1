import type { Result } from '../../protocol/result/result.ts';
import { percentilesText, tailOf } from '../model/names.ts';
import { counted, integer, percentOf } from '../text/format.ts';
import { figureOf, type Line } from './line.ts';

export function messageLines({ messages: found }: Result): Line[] {
  if (found === null || found.sent === 0) return [];
  const { ackMs, outsideAckMs, answered, acknowledged, sent, unasked } = found;
  const asked = sent - unasked;
  if (answered === null) return [{ text: `${counted(sent, 'client message')} sent` }];
  const share = answered === 1 ? 'all' : `${percentOf(acknowledged, asked)} of`;
  const all = `${share} ${counted(asked, 'client message')} acknowledged`;
  const figure = figureOf('messages.answered', answered, `${integer(acknowledged)} of ${integer(asked)}`);
  // Virtual users that leave have no hold.
  if (!ackMs) return [{ text: outsideAckMs ? `${all}: ${percentilesText(outsideAckMs)}` : all, figure }];
  const { ms, percentile } = tailOf(ackMs);
  return [
    {
      text: `${all}: ${percentilesText(ackMs)}`,
      figure: figureOf(
        `messages.ackMs.${percentile}`,
        ms,
        percentilesText(ackMs),
        `Time to acknowledgement ${percentile}`,
      ),
    },
    { text: null, figure },
  ];
}
