/** An event of the server's own: whether it came, and whether its ids and times tell what the options say. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { OwnEventMeasured } from '../../run/measurements/own-event.ts';
import { idsOfOneReceiver, sameAudience } from '../delivery/audience.ts';

export function* ownEventProblems(
  measurements: Measurements,
  { delivery }: Omit<Result, 'verdict'>,
): Generator<Reason> {
  const { ownEvent, aborted } = measurements;
  if (!ownEvent || !delivery || aborted) return;
  yield* missing(ownEvent, delivery);
  yield* notForAll(measurements, ownEvent, delivery);
  const { event, idPath, example, sentAtUnusable, untimed, skipped, seen } = ownEvent;
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
      message:
        untimed > 0
          ? `${untimed} broadcasts are in no latency, as their time at \`delivery.sentAt\` is not used: ${sentAtUnusable}`
          : `the times at \`delivery.sentAt\` are not used: ${sentAtUnusable}`,
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

function* notForAll(
  measurements: Measurements,
  { event, idPath }: OwnEventMeasured,
  { batches }: NonNullable<Result['delivery']>,
): Generator<Reason> {
  const ids = idsOfOneReceiver(measurements, batches);
  if (ids) {
    yield {
      code: 'IDS_NOT_SHARED',
      message: `${ids.single} of ${ids.of} ids at ${idPath} of \`${event}\` came to one connection only: they tell copies apart, not broadcasts`,
      fix: 'name the place of an id that all copies of a broadcast have in `delivery.id`, or count an event that goes to everybody',
    };
    return;
  }
  const same = sameAudience(measurements, batches);
  const [first] = same?.broadcasts ?? [];
  if (!same || !first) return;
  yield {
    code: 'AUDIENCE_DIFFERS',
    message: `${same.broadcasts.length} of ${batches.length} broadcasts reached the same ${first.received} of ${first.expected} connections, and nobody else: the server sent them to some only, or a part of it is cut off`,
    fix: 'let all connections of the scenario be in the room and namespace to which the server sends; if they are, see why its other processes do not pass broadcasts on',
  };
}
