/**
 * The wait for the last confirmations and receipts. It ends early only when nothing is outstanding: a copy that takes longer
 * than its neighbours is late, not lost. A backlog of the server may last longer than the broadcasts themselves.
 */
import type { RunContext } from '../context.ts';
import { otherReceivers } from '../receivers/other-receivers.ts';
import { MOST_DEADLINES, Since, until } from '../wait.ts';
import type { Orders } from './publish.ts';

/** Quiet times that must pass where only copies are missing of broadcasts that may not have been sent. */
const QUIETS_OF_DOUBT = 5;

/**
 * Resolves with `measurements.tailCut` set if copies still came at the end.
 * @param orders of the broadcasts, some of which may not be confirmed yet
 * @param reachedBefore first copies before the first broadcast, by engine
 */
export async function drain(
  context: RunContext,
  orders: Pick<Orders, 'open' | 'unanswered'>,
  reachedBefore: RunContext['link']['reached'],
): Promise<void> {
  const { config, link, measurements, ledger, signal } = context;
  const { quiet, deadline } = config.drain;
  const { underLoad } = measurements.roundTripsUs;
  const receivedNow = () => (ledger ? link.status.received : underLoad.length);
  const reachedNow = () => (ledger ? reachedSince(reachedBefore, link.reached) : underLoad.length);
  const outstanding = (unconfirmed: number) =>
    (ledger ? expectedCopies(context, unconfirmed) : measurements.sent.length + unconfirmed) - reachedNow();
  const quietSince = new Since();
  const progressSince = new Since();
  const beganMs = performance.now();
  const isDone = () => {
    const quietMs = quietSince.same(receivedNow());
    // A connection that comes back may get what it missed.
    if (orders.open > 0 || outstanding(0) > 0 || link.status.away > 0) return false;
    // Unexpected copies, such as duplicates, can still arrive.
    return quietMs >= quiet * 1000 * (outstanding(orders.unanswered) > 0 ? QUIETS_OF_DOUBT : 1);
  };
  const isOver = () => {
    const stillMs = progressSince.same(`${reachedNow()} ${measurements.sent.length}`);
    return isDone() || stillMs > deadline * 1000;
  };
  const ended = await until(isOver, MOST_DEADLINES * deadline * 1000, signal);
  const missing = Math.max(0, outstanding(orders.open));
  const seconds = (performance.now() - beganMs) / 1000;
  if (!ended && !signal.aborted) measurements.tailCut = { copies: missing, unconfirmed: orders.open, seconds };
}

/**
 * As the workers counted the members; where nobody did, as many as before. What was sent to a host that is gone is
 * accounted for as lost: then no broadcast has more receivers than there are members on the other hosts.
 * @param unconfirmed broadcasts that are taken to have as many members as the last one
 */
function expectedCopies({ measurements, link }: RunContext, unconfirmed: number): number {
  const most = link.gone.size > 0 ? link.status.joined : Number.POSITIVE_INFINITY;
  let members = 0;
  let copies = 0;
  for (const one of measurements.sent) {
    members = otherReceivers(one, measurements) ?? members;
    copies += Math.min(members, most);
  }
  return copies + unconfirmed * Math.min(members, most);
}

function reachedSince(before: RunContext['link']['reached'], now: RunContext['link']['reached']): number {
  let copies = 0;
  for (const [engine, reached] of now) copies += reached - (before.get(engine) ?? 0);
  return copies;
}
