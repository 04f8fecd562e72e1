/**
 * Waits for the last confirmations and copies of the broadcasts. The wait ends early only if every copy and
 * confirmation has arrived, because a slow copy is late and not lost. A server may need longer for its backlog than the
 * run needed to send the broadcasts.
 */
import type { RunContext } from '../context.ts';
import { ChangeTimer, MAX_DEADLINES, pollUntil } from '../wait.ts';

/** Numbers of copies and confirmations that have arrived or are missing. */
export interface OutstandingCopies {
  /** Number of copies so far, including duplicates. The server counts as silent while this number stays the same. */
  received: number;
  /** Value that changes as long as the server's backlog gets shorter. */
  progress: number | string;
  isComplete: boolean;
  /** Number of silent intervals to wait after the last expected copy; by default 1. */
  quiets?: number;
  missingCopies: number;
  /** Number of broadcasts without a confirmation that may still be confirmed. */
  unconfirmed: number;
}

/** Response time above which a worker counts as blocked. */
const BLOCKED_MS = 1000;

/**
 * Resolves after a silent interval if every copy has arrived, or at the deadline. The deadline counts from the last
 * progress, or from the arrival of the last expected copy: some servers never fall silent. If copies are missing and a
 * worker was blocked, the silent interval and the deadline start again, because the worker may send its backlog now.
 * Sets `measurements.tailCut` if copies still arrived at the end.
 */
export async function drainBroadcasts(
  { config, control, measurements, signal }: RunContext,
  readOutstanding: () => OutstandingCopies | Promise<OutstandingCopies>,
  pollMs?: number,
): Promise<void> {
  const [quietMs, deadlineMs] = [config.drain.quiet * 1000, config.drain.deadline * 1000];
  let [receivedTimer, progressTimer] = [new ChangeTimer(), new ChangeTimer()];
  const beganMs = performance.now();
  let completeAtMs = Number.POSITIVE_INFINITY;
  let last: OutstandingCopies | undefined;
  let progressAtResume: OutstandingCopies['progress'] | undefined;
  const isStill = ({ isComplete, quiets = 1, received, progress }: OutstandingCopies) => {
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
  const ended = await pollUntil(isOver, MAX_DEADLINES * deadlineMs, signal, pollMs);
  if (ended || signal.aborted) return;
  const seconds = (performance.now() - beganMs) / 1000;
  measurements.tailCut = { copies: last?.missingCopies ?? 0, unconfirmed: last?.unconfirmed ?? 0, seconds };
}

/**
 * Waits until all workers have answered.
 * @returns whether a worker was blocked
 */
async function wasBlocked(control: RunContext['control']): Promise<boolean> {
  const askedAtMs = performance.now();
  const workers = await control.stats().catch(() => []);
  return workers.length > 0 && performance.now() - askedAtMs > BLOCKED_MS;
}
