/** Builds the result's rows of closed connections, by reason. */
import type { CloseKind } from '../../../protocol/link/close-kinds.ts';
import type { Result } from '../../../protocol/result/result.ts';

export type CloseRow = Result['connections']['ends'][number];

/** Returns a row for each reason, the most frequent reason first. */
export function closeRows(kinds: readonly CloseKind[]): CloseRow[] {
  return kinds.toSorted((a, b) => b.count - a.count).map(closeRowOf);
}

/** Returns the row of one reason, with the ranges of its figures. */
export function closeRowOf({
  reason,
  cause,
  closeText,
  event,
  text: eventText,
  count,
  announced,
  samples,
}: CloseKind): CloseRow {
  const [ages = [], sent = [], received = [], sizes = []] = [0, 1, 2, 3].map((at) =>
    samples.map((sample) => sample[at] ?? 0),
  );
  const age = rangeOf(ages);
  return {
    ...{ reason, cause, closeText, event, eventText, count },
    ageSeconds: { low: age.low / 1000, high: age.high / 1000 },
    ...{ sent: rangeOf(sent), received: rangeOf(received), largestSentBytes: rangeOf(sizes) },
    maxPayloadBytes: announced.maxPayloadBytes || null,
    pingIntervalMs: announced.pingIntervalMs || null,
    pingTimeoutMs: announced.pingTimeoutMs || null,
  };
}

/** Returns the 5th and the 95th percentile of the values. */
function rangeOf(values: number[]): { low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  return { low: at(0.05), high: at(0.95) };
}
