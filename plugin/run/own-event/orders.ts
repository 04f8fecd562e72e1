/** From what was published and seen to what the ledgers finalize: which broadcasts count, and from when to time them. */
import { AUDIENCE, type FreezeOrder } from '../../../protocol/link.ts';
import type { LatencyFrom } from '../../../protocol/result/latency.ts';
import type { Published } from '../receivers/publishers.ts';
import type { Seen } from './seen.ts';
import { sentTimes } from './sent-times.ts';

export interface Orders {
  broadcasts: FreezeOrder[];
  latencyFrom: LatencyFrom;
  /** Why the payload's time is not used, although the option names it. */
  sentAtUnusable: string | undefined;
}

/**
 * Broadcasts with ids of our own: who is a member at the emit is to receive them.
 * @param hasSentAt the options name a time in the payload
 */
export function ordersOfPublished(published: Published[], seen: Seen[], hasSentAt: boolean): Orders {
  const byId = new Map(seen.map((one) => [one.id, one]));
  const broadcasts = published.map(({ seq, id, emittedAtUs, intendedAtUs }) => ({
    ...{ seq, id, room: AUDIENCE },
    ...{ sentAtUs: emittedAtUs, intendedAtUs },
  }));
  const received = published.flatMap(({ id, sentAt: own }) => {
    const one = byId.get(id);
    return one ? [{ ...one, own }] : [];
  });
  // Our own time that came back is that of the emit, which we know more precisely.
  const isOurs = received.every(({ sentAt, own }) => String(sentAt) === String(own));
  const orders = { broadcasts, latencyFrom: 'publisher' as const, sentAtUnusable: undefined };
  return hasSentAt && !isOurs ? fromPayload(orders, received) : orders;
}

/** Broadcasts with ids of the server: who is a member at the first receipt anywhere is to receive them. */
export function ordersOfSeen(seen: Seen[], hasSentAt: boolean): Orders {
  const broadcasts = seen.map(({ id, firstAtUs }, index) => ({
    ...{ seq: index + 1, id, room: AUDIENCE },
    ...{ sentAtUs: firstAtUs, intendedAtUs: firstAtUs },
  }));
  const orders = { broadcasts, latencyFrom: 'first receipt' as const, sentAtUnusable: undefined };
  return hasSentAt ? fromPayload(orders, seen) : orders;
}

function fromPayload(orders: Orders, seen: Seen[]): Orders {
  const times = sentTimes(seen);
  if ('unusable' in times) return { ...orders, sentAtUnusable: times.unusable };
  const atUs = new Map(seen.map(({ id }, index) => [id, times.atUs[index]]));
  const broadcasts = orders.broadcasts.map((order) => {
    const latencyFromAtUs = atUs.get(order.id as string);
    return latencyFromAtUs === undefined ? order : { ...order, latencyFromAtUs };
  });
  return { broadcasts, latencyFrom: 'payload', sentAtUnusable: undefined };
}
