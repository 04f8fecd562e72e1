/** How connections ended that their virtual users did not close, by kind. */
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { Result } from '../../protocol/result/result.ts';

type EndRows = Result['connections']['ends'];

/** @returns the most frequent kind first */
export function endRows({ ends }: Pick<FleetSnapshot, 'ends'>): EndRows {
  const kinds = ends.toSorted((a, b) => b.count - a.count);
  return kinds.map(({ reason, cause, words, event, text: eventText, count, announced, samples }) => {
    const [ages = [], sent = [], received = [], sizes = []] = [0, 1, 2, 3].map((at) =>
      samples.map((one) => one[at] ?? 0),
    );
    const age = rangeOf(ages);
    return {
      ...{ reason, cause, words, event, eventText, count },
      ageSeconds: { low: age.low / 1000, high: age.high / 1000 },
      ...{ sent: rangeOf(sent), received: rangeOf(received), largestSentBytes: rangeOf(sizes) },
      maxPayloadBytes: announced.maxPayloadBytes || null,
      pingIntervalMs: announced.pingIntervalMs || null,
      pingTimeoutMs: announced.pingTimeoutMs || null,
    };
  });
}

/** From the 5th to the 95th percentile. */
function rangeOf(values: number[]): { low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  return { low: at(0.05), high: at(0.95) };
}
