/**
 * The wait for the last receipts. It ends early only when nothing is outstanding: a copy that takes longer than its
 * neighbours is late, not lost.
 */
import type { RunContext } from '../context.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { otherReceivers } from '../receivers/other-receivers.ts';
import { until } from '../wait.ts';

/**
 * @param reachedBefore first copies before the first broadcast, as `FleetStatus` counts them
 * @param sent whose receipts are waited for; by default the run's
 */
export async function drain(context: RunContext, reachedBefore: number, sent?: Measurements['sent']): Promise<void> {
  const { config, link, measurements, ledger, signal } = context;
  const { quiet, deadline } = config.drain;
  const receivedNow = () => (ledger ? link.status.received : measurements.roundTripsUs.underLoad.length);
  const outstanding = () =>
    ledger
      ? expectedCopies(context.measurements, sent ?? measurements.sent) - (link.status.reached - reachedBefore)
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
  await until(isDone, deadline * 1000, signal);
}

/** As the workers counted the members; where nobody did, as many as before. */
function expectedCopies(measurements: Measurements, sent: Measurements['sent']): number {
  let members = 0;
  let copies = 0;
  for (const one of sent) {
    members = otherReceivers(one, measurements) ?? members;
    copies += members;
  }
  return copies;
}
