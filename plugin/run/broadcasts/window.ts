/** Measures the broadcasts at full target: publishes them, waits for the last copies, and finalizes the ledger. */
import type { RunContext } from '../context.ts';
import { measureAfterBroadcasts } from '../memory/at-rest.ts';
import { Windows } from '../windows/cpu-window.ts';
import { noteGenerator, resetGenerator } from '../windows/generator-loops.ts';
import { drain, type Outstanding } from './drain.ts';
import { LEAD_MS } from './publish.ts';

/** The contract's broadcasts, which the workers publish, or an event of the server's own. */
export interface Broadcasting {
  /** Before anything is measured. */
  begin?(): Promise<void>;
  /** Resolves when the last broadcast is due. @param nextPart to be called between two parts of the window */
  publish(nextPart: () => void): Promise<void>;
  outstanding(): Outstanding | Promise<Outstanding>;
  /** Finalizes the ledgers, and writes `sent` and `frozen` into the measurements. */
  settle(): Promise<void>;
  readonly pollMs?: number;
}

/**
 * @param onDrain called when the last broadcast is out
 * @param meanwhile what goes on while they are published: a planned fault; called `leadMs` before the first one
 */
export async function measureBroadcasts(
  context: RunContext,
  broadcasting: Broadcasting,
  onDrain: () => void,
  meanwhile: (leadMs: number) => Promise<void> = async () => {},
): Promise<void> {
  const { measurements, link, ledger } = context;
  await broadcasting.begin?.();
  await resetGenerator(context);
  const { received: receivedBefore } = link.status;
  const delivered = () =>
    ledger
      ? link.status.received - receivedBefore
      : measurements.sent.reduce((total, { expected }) => total + (expected ?? 0), 0);
  const windows = new Windows(context, delivered);
  await Promise.all([broadcasting.publish(() => void windows.next()), meanwhile(LEAD_MS)]);
  onDrain();
  await drain(context, () => broadcasting.outstanding(), broadcasting.pollMs);
  const used = await windows.end();
  // What it costs to come back is in the CPU time, too.
  if (!measurements.fault) measurements.cpu.broadcasts = used;
  await noteGenerator(context, 'broadcasts');
  await broadcasting.settle();
  // The processes that a fault replaces have other memory than those before.
  if (!measurements.fault) await measureAfterBroadcasts(context);
}

export const BROADCAST_PARTS = 10;

/**
 * The broadcasts are measured in parts of equally many, and the last part has the rest, too: how much the parts differ is the
 * noise of the CPU per message.
 */
export function beginsPart(index: number, count: number): boolean {
  const size = Math.max(1, Math.floor(count / BROADCAST_PARTS));
  return index > 0 && index % size === 0 && index + size <= count;
}
