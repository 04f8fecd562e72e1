/**
 * The published benchmark report's own figures, of our runs: only the page that compares with it shows them. It grades its runs
 * without a rule: an A for one that lost a quarter of its messages. This grade has a rule.
 */

import type { Result } from '../../protocol/result/result.ts';
import { heldOf } from '../../report/figures/held.ts';

/** The Techracers study's requirement. */
const PROMPT_MS = 300;
const RATE_TOLERANCE = 0.05;

/** From best to worst; shares are connections held ÷ target, and receipts ÷ receipts expected. */
export const GRADES = [
  {
    grade: 'A+',
    rule: `as A, and at least 95 % of the configured rate, and the last receiver within ${PROMPT_MS} ms in 99 % of broadcasts`,
  },
  { grade: 'A', share: 1, rule: 'every connection was held, and everybody received every broadcast' },
  { grade: 'B', share: 0.999, rule: 'at least 99.9 % of connections, and of receipts' },
  { grade: 'C', share: 0.99, rule: 'at least 99 % of both' },
  { grade: 'D', share: 0.95, rule: 'at least 95 % of both' },
  { grade: 'F', share: 0, rule: 'less' },
];

/** @returns null if nothing can be graded: the run is INVALID, or there is no ledger */
export function gradeOf({ verdict, connections, delivery, latency }: Result): string | null {
  if (verdict.status === 'INVALID' || !delivery || delivery.coverage === null || connections.target === 0) return null;
  const share = Math.min(heldOf(connections) / connections.target, delivery.coverage);
  const { achievedRatePerSec: achieved, configuredRatePerSec: configured } = connections;
  const onRate = achieved !== null && configured !== null && achieved >= configured * (1 - RATE_TOLERANCE);
  const prompt = latency.completionMs !== null && (latency.completionMs.p99 ?? latency.completionMs.max) <= PROMPT_MS;
  if (share >= 1 && onRate && prompt) return 'A+';
  return GRADES.find((one) => one.share !== undefined && share >= one.share)?.grade ?? null;
}

const BUDGET_BYTES = 2 * 1024 ** 3;

/** Its rule: 2 GiB × connections ÷ peak RSS of the workers, including the memory at 0 connections. It grows with the run. */
export function theoreticalMax({
  connections: { peak },
  memory: { peakBytes },
}: Pick<Result, 'connections' | 'memory'>): number | null {
  const bytes = peakBytes.workerRss ?? 0;
  return peak === 0 || bytes <= 0 ? null : Math.floor((BUDGET_BYTES * peak) / bytes);
}
