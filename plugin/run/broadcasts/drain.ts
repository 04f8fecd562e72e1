/**
 * The wait for the last receipts. It ends early only when nothing is outstanding: a copy that takes longer than its
 * neighbours is late, not lost.
 */
import type { RunContext } from '../context.ts';
import { otherReceivers } from '../receivers/other-receivers.ts';
import { until } from '../wait.ts';

/** @param reachedBefore first copies before the first broadcast, by engine */
export async function drain(context: RunContext, reachedBefore: RunContext['link']['reached']): Promise<void> {
  const { config, link, measurements, ledger, record, signal } = context;
  const { quiet, deadline } = config.drain;
  const receivedNow = () => (ledger ? link.status.received : measurements.roundTripsUs.underLoad.length);
  const outstanding = () =>
    ledger
      ? expectedCopies(context) - reachedSince(reachedBefore, link.reached)
      : measurements.sent.length - measurements.roundTripsUs.underLoad.length;
  let received = receivedNow();
  let lastMs = performance.now();
  const isDone = () => {
    const now = receivedNow();
    if (now !== received) lastMs = performance.now();
    received = now;
    // Unexpected copies, such as duplicates, can still arrive.
    // A connection that comes back may get what it missed.
    return outstanding() <= 0 && link.status.away === 0 && performance.now() - lastMs >= quiet * 1000;
  };
  const complete = await until(isDone, deadline * 1000, signal);
  record.append('drained', { complete, outstanding: outstanding() });
}

/**
 * As the workers counted the members; where nobody did, as many as before. What was sent to a host that is gone is
 * accounted for as lost: then no broadcast has more receivers than there are members on the other hosts.
 */
function expectedCopies({ measurements, link }: RunContext): number {
  const most = link.gone.size > 0 ? link.status.joined : Number.POSITIVE_INFINITY;
  let members = 0;
  let copies = 0;
  for (const one of measurements.sent) {
    members = otherReceivers(one, measurements) ?? members;
    copies += Math.min(members, most);
  }
  return copies;
}

function reachedSince(before: RunContext['link']['reached'], now: RunContext['link']['reached']): number {
  let copies = 0;
  for (const [engine, reached] of now) copies += reached - (before.get(engine) ?? 0);
  return copies;
}
