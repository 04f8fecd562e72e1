import type { Result } from '../../protocol/result/result.ts';
import { hasClosedReceivers } from '../figures/held.ts';
import { numberText } from '../model/amount.ts';
import { highestPercentile, percentilesText } from '../model/names.ts';
import { countText, integerText, percentOf } from '../text/format.ts';
import { answerFigure, hasBroadcasts, NO_DELIVERY, type ReportLine, unknownFigure } from './line.ts';

const COVERAGE = 'delivery.coverage';

type Delivery = NonNullable<Result['delivery']>;

/** Reports the delivered copies. Returns no line if the run sent no broadcasts. */
export function deliveryLines(result: Result): ReportLine[] {
  const { delivery: found, absent } = result;
  if (!hasBroadcasts(result)) return [];
  if (found !== null) return finding(result, found);
  return unknownFigure(result, COVERAGE, absent.delivery ?? NO_DELIVERY);
}

function finding({ connections }: Result, found: Delivery): ReportLine[] {
  const { broadcasts, expected, received, batches } = found;
  if (broadcasts === 0 || found.coverage === null) return [];
  const hasLeavers = hasClosedReceivers(found);
  const inRooms = new Set(batches.map(({ room }) => room)).size > 1 ? ' in their rooms' : '';
  const still = hasLeavers || connections.held === null ? ' still connected' : '';
  const everybody = `every connection${inRooms}${still}`;
  const complete = batches
    .filter((batch) => batch.expected > 0 && batch.received === batch.expected)
    .reduce((sum, batch) => sum + batch.broadcasts, 0);
  // In a long run, a row covers several broadcasts. The row counts as incomplete if one of its broadcasts is
  // incomplete.
  const atLeast = batches.length < broadcasts ? 'at least ' : '';
  const all = `${broadcasts === 1 ? 'the broadcast' : `all ${countText(broadcasts, 'broadcast')}`} delivered to ${everybody}: ${integerText(received)} copies`;
  const some = `${atLeast}${integerText(complete)} of ${countText(broadcasts, 'broadcast')} delivered to ${everybody} (${percentOf(received, expected)} of the copies)${roomOfLosses(found)}`;
  const gone = hasLeavers ? `; ${numberText('share', found.coverageOfTarget ?? 0)} % if closed connections count` : '';
  return [
    {
      text: complete === broadcasts ? all : some,
      figure: answerFigure(
        COVERAGE,
        found.coverage,
        `${integerText(received)} of ${integerText(expected)} copies of ${countText(broadcasts, 'broadcast')}${gone}`,
      ),
    },
    ...sameMissed(found),
  ];
}

/**
 * Returns the name of the room whose members lost copies. Empty if several rooms lost copies, or if there is only one
 * room.
 */
function roomOfLosses({ batches }: Delivery): string {
  const incomplete = batches.filter((batch) => batch.received < batch.expected);
  const [room, ...others] = new Set(incomplete.map((batch) => batch.room));
  const isOne = room && others.length === 0 && incomplete.length > 1 && batches.some((batch) => batch.room !== room);
  return isOne ? `, all losses in room \`${room}\`` : '';
}

/**
 * Reports connections that lost several broadcasts, if the cause is known. If the cause is unknown, the finding about
 * lost copies reports the losses.
 */
function sameMissed({ unreachedGroup }: Delivery): ReportLine[] {
  if (!unreachedGroup) return [];
  const { broadcasts, connections, workers, isLasting } = unreachedGroup;
  if (workers.length === 0 && !isLasting) return [];
  const who = connections === 1 ? 'one open connection' : `the same ${integerText(connections)} open connections`;
  const why =
    workers.length === 0
      ? `${connections === 1 ? 'it is' : 'they are'} no member${connections === 1 ? '' : 's'} of the room, or unreachable`
      : `worker${workers.length === 1 ? ` ${workers[0]} has` : `s ${workers.join(', ')} have`} as many, and published none of these broadcasts: find out why nothing arrives there from other workers (adapter, its subscription, Redis)`;
  return [{ text: `${who} missed ${integerText(broadcasts)} broadcasts: ${why}` }];
}

export function messageLines({ messages: found }: Result): ReportLine[] {
  if (found === null || found.sent === 0) return [];
  const { ackMs, outsideAckMs, answered, acknowledged, sent, ackNotRequested } = found;
  const asked = sent - ackNotRequested;
  if (answered === null) return [{ text: `${countText(sent, 'client message')} sent` }];
  const share = answered === 1 ? 'all' : `${percentOf(acknowledged, asked)} of`;
  const all = `${share} ${countText(asked, 'client message')} acknowledged`;
  const figure = answerFigure('messages.answered', answered, `${integerText(acknowledged)} of ${integerText(asked)}`);
  // If virtual users disconnect by themselves, the run has no hold. Acknowledgement times from the whole run are
  // reported instead.
  if (!ackMs) return [{ text: outsideAckMs ? `${all}: ${percentilesText(outsideAckMs)}` : all, figure }];
  const { ms, percentile } = highestPercentile(ackMs);
  return [
    {
      text: `${all}: ${percentilesText(ackMs)}`,
      figure: answerFigure(
        `messages.ackMs.${percentile}`,
        ms,
        percentilesText(ackMs),
        `Time to acknowledgement ${percentile}`,
      ),
    },
    { text: null, figure },
  ];
}
