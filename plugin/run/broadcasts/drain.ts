/**
 * Waits for the last confirmations and copies. The wait ends early only when nothing is outstanding: a slow copy is late, not lost. A
 * server's backlog may take longer than the broadcasts did.
 */
import type { RunContext } from '../context.ts';
import { ChangeTimer, MAX_DEADLINES, until } from '../wait.ts';

/** Progress of the published broadcasts. */
export interface Outstanding {
  /** Copies so far, including duplicates. The server is silent while this number stays the same. */
  received: number;
  /** Value that changes while a backlog gets shorter. */
  progress: number | string;
  /** Every expected copy has arrived. */
  isComplete: boolean;
  /** Silent intervals to wait once complete; by default 1. */
  quiets?: number;
  missingCopies: number;
  /** Broadcasts that may still be confirmed. */
  unconfirmed: number;
}

/** A worker that takes longer to answer was blocked. */
const BLOCKED_MS = 1000;

/**
 * Resolves after a silence once every copy has arrived, or at the deadline. The deadline counts from the last progress. When every copy has
 * arrived, it counts from that moment, because some servers never fall silent. Silence and deadline start again if copies are missing and a
 * worker was blocked: the worker may send its backlog now. Sets `measurements.tailCut` if copies still arrived at the end.
 */
export async function drain(
  { config, control, measurements, signal }: RunContext,
  readOutstanding: () => Outstanding | Promise<Outstanding>,
  pollMs?: number,
): Promise<void> {
  const [quietMs, deadlineMs] = [config.drain.quiet * 1000, config.drain.deadline * 1000];
  let [receivedTimer, progressTimer] = [new ChangeTimer(), new ChangeTimer()];
  const beganMs = performance.now();
  let completeAtMs = Number.POSITIVE_INFINITY;
  let last: Outstanding | undefined;
  let progressAtResume: Outstanding['progress'] | undefined;
  const isStill = ({ isComplete, quiets = 1, received, progress }: Outstanding) => {
    const silentMs = receivedTimer.msSinceChange(received);
    const stillMs = progressTimer.msSinceChange(progress);
    if (!isComplete) return stillMs > deadlineMs;
    completeAtMs = Math.min(completeAtMs, performance.now());
    return silentMs >= quietMs * quiets || performance.now() - completeAtMs > deadlineMs;
  };
  const isOver = async () => {
    last = await readOutstanding();
    if (!isStill(last)) return false;
    const { isComplete, quiets = 1, progress } = last;
    if ((isComplete && quiets === 1) || progress === progressAtResume || !(await wasBlocked(control))) return true;
    [receivedTimer, progressTimer] = [new ChangeTimer(), new ChangeTimer()];
    completeAtMs = Number.POSITIVE_INFINITY;
    progressAtResume = progress;
    return false;
  };
  const ended = await until(isOver, MAX_DEADLINES * deadlineMs, signal, pollMs);
  if (ended || signal.aborted) return;
  const seconds = (performance.now() - beganMs) / 1000;
  measurements.tailCut = { copies: last?.missingCopies ?? 0, unconfirmed: last?.unconfirmed ?? 0, seconds };
}

/** Waits until all workers have answered. @returns whether a worker was blocked until now */
async function wasBlocked(control: RunContext['control']): Promise<boolean> {
  const askedAtMs = performance.now();
  const workers = await control.stats().catch(() => []);
  return workers.length > 0 && performance.now() - askedAtMs > BLOCKED_MS;
}
