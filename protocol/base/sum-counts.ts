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

/** Of names as for `setOwn`; one that is back at zero is gone. */
export function addOwn(counts: Record<string, number>, key: string, change: number): void {
  const sum = (ownValue(counts, key) ?? 0) + change;
  if (sum === 0) delete counts[key];
  else setOwn(counts, key, sum);
}

/** @returns undefined for the names of properties that objects inherit */
export function ownValue<V>(record: Record<string, V>, key: string): V | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
