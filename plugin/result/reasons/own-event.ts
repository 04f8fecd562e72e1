/** An event of the server's own: whether it came, and whether its ids and times tell what the options say. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements, OwnEventMeasured } from '../../run/measurements.ts';

export function* ownEventProblems(
  { ownEvent, aborted }: Measurements,
  { delivery }: Omit<Result, 'verdict'>,
): Generator<Reason> {
  if (!ownEvent || !delivery || aborted) return;
  yield* missing(ownEvent, delivery);
  const { event, idPath, example, sentAtUnusable, skipped, seen } = ownEvent;
  if (delivery.unreadable > 0) {
    yield {
      code: 'UNREADABLE_BROADCASTS',
      message: `${delivery.unreadable} copies of \`${event}\` have no string or number at ${idPath}, as in ${example ?? 'one that is not JSON'}`,
      fix: 'correct `delivery.id`, or let the server use another event for what is no broadcast',
    };
  }
  if (sentAtUnusable !== undefined) {
    yield {
      code: 'SENT_AT_UNUSABLE',
      message: `the times at \`delivery.sentAt\` are not used: ${sentAtUnusable}`,
      fix: "set the server's clock, or leave `delivery.sentAt` out; latencies count from what `latency.from` names",
    };
  }
  if (skipped > 0) {
    yield {
      code: 'IDS_NOT_COUNTED',
      message: `${skipped} of ${seen} broadcasts came while the ledger was full; their copies are in \`outside\``,
      fix: 'shorten the measurement, or count an event that comes less often',
    };
  }
}

function* missing(
  { event, published, seen, givesIds }: OwnEventMeasured,
  delivery: NonNullable<Result['delivery']>,
): Generator<Reason> {
  if (delivery.received + delivery.unexpected === 0) {
    const others = delivery.frames ? `, and ${delivery.frames} copies that are none of the run's` : '';
    yield {
      code: 'DELIVERY_EVENT_MISSING',
      message: `no copy of \`${event}\` arrived while it was measured${others}`,
      fix: 'check the name of the event, and what a connection must do to get it; without `publish`, measure for longer',
    };
  } else if (!givesIds && seen < published) {
    yield {
      code: 'BROADCASTS_UNSEEN',
      message: `${published} broadcasts were published, and ${seen} ids arrived: the others reached nobody, or share an id`,
      fix: "see the server log; let the ids be the run's own: `$id` in `publish.emit`",
    };
  }
}
