/**
 * The wait for the last confirmations and receipts. It ends early only when nothing is outstanding: a copy that takes longer
 * than its neighbours is late, not lost. A backlog of the server may last longer than the broadcasts themselves.
 */
import type { RunContext } from '../context.ts';
import { MOST_DEADLINES, Since, until } from '../wait.ts';

/** State of the broadcasts that were published. */
export interface Outstanding {
  /** Copies so far, duplicates included: silence is measured by them. */
  received: number;
  /** Changes as long as a backlog gets shorter. */
  progress: number | string;
  /** Every expected copy has arrived. */
  isComplete: boolean;
  /** Silent intervals to wait after that; by default one. */
  quiets?: number;
  missingCopies: number;
  /** Broadcasts whose confirmation can still come. */
  unconfirmed: number;
}

/** A worker that takes longer to answer was blocked. */
const PROMPT_MS = 1000;

/**
 * Ends after a silence once all is complete, or at the deadline: that counts from the last progress, and from completeness on
 * for a server that broadcasts all the time. A blocked worker sends when it runs again, so where something is missing, both count from
 * then on. Sets `measurements.tailCut` if copies still came at the end.
 */
export async function drain(
  { config, control, measurements, signal }: RunContext,
  look: () => Outstanding | Promise<Outstanding>,
  pollMs?: number,
): Promise<void> {
  const [quietMs, deadlineMs] = [config.drain.quiet * 1000, config.drain.deadline * 1000];
  let [receivedSince, progressSince] = [new Since(), new Since()];
  const beganMs = performance.now();
  let completeAtMs = Number.POSITIVE_INFINITY;
  let last: Outstanding | undefined;
  let resumedWith: Outstanding['progress'] | undefined;
  const isStill = ({ isComplete, quiets = 1, received, progress }: Outstanding) => {
    const silentMs = receivedSince.same(received);
    const stillMs = progressSince.same(progress);
    if (!isComplete) return stillMs > deadlineMs;
    completeAtMs = Math.min(completeAtMs, performance.now());
    return silentMs >= quietMs * quiets || performance.now() - completeAtMs > deadlineMs;
  };
  const isOver = async () => {
    last = await look();
    if (!isStill(last)) return false;
    const { isComplete, quiets = 1, progress } = last;
    if ((isComplete && quiets === 1) || progress === resumedWith || !(await hasResumed(control))) return true;
    [receivedSince, progressSince] = [new Since(), new Since()];
    completeAtMs = Number.POSITIVE_INFINITY;
    resumedWith = progress;
    return false;
  };
  const ended = await until(isOver, MOST_DEADLINES * deadlineMs, signal, pollMs);
  if (ended || signal.aborted) return;
  const seconds = (performance.now() - beganMs) / 1000;
  measurements.tailCut = { copies: last?.missingCopies ?? 0, unconfirmed: last?.unconfirmed ?? 0, seconds };
}

/** Waits for the answers of all workers. @returns whether one of them was blocked until now */
async function hasResumed(control: RunContext['control']): Promise<boolean> {
  const askedAtMs = performance.now();
  const workers = await control.stats().catch(() => []);
  return workers.length > 0 && performance.now() - askedAtMs > PROMPT_MS;
}
