import type { MessageCounts } from './link.ts';

/** Adds up counters by key. */
export function sumCounts(all: Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const counts of all) for (const [key, count] of Object.entries(counts)) total[key] = (total[key] ?? 0) + count;
  return total;
}

export function sumMessages(all: MessageCounts[]): MessageCounts {
  return all.reduce(
    (sum, { sent, unanswered }) => ({ sent: sum.sent + sent, unanswered: sum.unanswered + unanswered }),
    { sent: 0, unanswered: 0 },
  );
}
