/**
 * Measures the broadcasts while all connections are held: publishes, waits for the last copies, and finalizes the
 * ledger.
 */
import type { RunContext } from '../context.ts';
import { measureAfterBroadcasts } from '../memory/at-rest.ts';
import { ConsecutiveWindows } from '../windows/cpu-window.ts';
import { beginGeneratorWindow, endGeneratorWindow } from '../windows/generator-window.ts';
import { drainBroadcasts, type OutstandingCopies } from './drain.ts';
import { PUBLISH_LEAD_MS } from './publish.ts';

/**
 * A way to make the server broadcast: through the workers by the wire contract, or by an event of the user's own
 * server.
 */
export interface BroadcastSource {
  begin?(): Promise<void>;
  /**
   * Publishes all broadcasts. Resolves when the last broadcast is due.
   * @param nextPart called between two parts of the measurement window
   */
  publish(nextPart: () => void): Promise<void>;
  outstanding(): OutstandingCopies | Promise<OutstandingCopies>;
  /** Finalizes the ledgers, and writes `sent` and `frozen` into the measurements. */
  settle(): Promise<void>;
  readonly pollMs?: number;
}

/**
 * @param onDrain called when the last broadcast is due
 * @param meanwhile runs while broadcasts are published, for example to cause a planned fault; called `leadMs` before
 * the first broadcast
 */
export async function measureBroadcasts(
  context: RunContext,
  broadcasting: BroadcastSource,
  onDrain: () => void,
  meanwhile: (leadMs: number) => Promise<void> = async () => {},
): Promise<void> {
  const { measurements, link, ledger } = context;
  await broadcasting.begin?.();
  await beginGeneratorWindow(context);
  const { received: receivedBefore } = link.status;
  const delivered = () =>
    ledger
      ? link.status.received - receivedBefore
      : measurements.sent.reduce((total, { expected }) => total + (expected ?? 0), 0);
  const windows = new ConsecutiveWindows(context, delivered);
  await Promise.all([broadcasting.publish(() => void windows.next()), meanwhile(PUBLISH_LEAD_MS)]);
  onDrain();
  await drainBroadcasts(context, () => broadcasting.outstanding(), broadcasting.pollMs);
  const used = await windows.end();
  if (!measurements.fault) measurements.cpu.broadcasts = used;
  await endGeneratorWindow(context, 'broadcasts');
  await broadcasting.settle();
  // After a fault has replaced processes, their memory cannot be compared with the memory before the fault.
  if (!measurements.fault) await measureAfterBroadcasts(context);
}

/**
 * Counts broadcasts while virtual users connect and disconnect. CPU time per copy is not measured, because connects use
 * CPU at the same time. Memory is not read here, because another function reads it during the whole load.
 */
export async function measureDuringLoad(context: RunContext, broadcasting: BroadcastSource): Promise<void> {
  await broadcasting.begin?.();
  await broadcasting.publish(() => {});
  await drainBroadcasts(context, () => broadcasting.outstanding(), broadcasting.pollMs);
  await broadcasting.settle();
}

export const BROADCAST_PARTS = 10;

/**
 * Divides the broadcasts into parts of equal size; the last part also contains the remainder. The spread between the
 * parts is the noise of the CPU per message.
 * @returns whether the broadcast at this index begins a part
 */
export function isFirstOfPart(index: number, count: number): boolean {
  const size = Math.max(1, Math.floor(count / BROADCAST_PARTS));
  return index > 0 && index % size === 0 && index + size <= count;
}
