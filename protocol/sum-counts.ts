import type { MessageCounts } from './link/client-messages.ts';

/** Adds up counters by key. Keys can be names that a server chose, such as `constructor` or `__proto__`. */
export function sumCounts(all: Record<string, number>[]): Record<string, number> {
  const total = new Map<string, number>();
  for (const counts of all) {
    for (const [key, count] of Object.entries(counts)) total.set(key, (total.get(key) ?? 0) + count);
  }
  return Object.fromEntries(total);
}

/** Its own property, also for the names of those that objects inherit. */
export function setOwn<V>(record: Record<string, V>, key: string, value: V): void {
  Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true });
}

/** @returns undefined for the names of properties that objects inherit */
export function ownValue<V>(record: Record<string, V>, key: string): V | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** @param zero with the keys to add up; of `loopLateMs`, the largest stands */
export function sumStatuses<S extends { loopLateMs: number }>(zero: S, statuses: Iterable<S>): S {
  type Counts = Record<string, number>;
  const sum = { ...zero } as object as Record<string, number | Counts>;
  for (const status of statuses as Iterable<typeof sum>) {
    for (const key of Object.keys(sum)) {
      const [before, value] = [sum[key], status[key]];
      if (typeof before === 'number') {
        sum[key] = key === 'loopLateMs' ? Math.max(before, value as number) : before + (value as number);
      } else sum[key] = sumCounts([before as Counts, value as Counts]);
    }
  }
  return sum as object as S;
}

export function sumMessages(all: MessageCounts[]): MessageCounts {
  return all.reduce(
    (sum, { sent, unanswered }) => ({ sent: sum.sent + sent, unanswered: sum.unanswered + unanswered }),
    { sent: 0, unanswered: 0 },
  );
}
