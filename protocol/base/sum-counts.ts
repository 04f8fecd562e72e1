/** Adds up counters by key. Keys can be names that a server chose, such as `constructor` or `__proto__`. */
export function sumCounts(all: Record<string, number>[]): Record<string, number> {
  const total = new Map<string, number>();
  for (const counts of all) {
    for (const [key, count] of Object.entries(counts)) total.set(key, (total.get(key) ?? 0) + count);
  }
  return Object.fromEntries(total);
}

/** Sets an own property, even if its name is that of an inherited one. */
export function setOwn<V>(record: Record<string, V>, key: string, value: V): void {
  Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Adds to a count, for any name; removes it if the sum is zero. */
export function addOwn(counts: Record<string, number>, key: string, change: number): void {
  const sum = (ownValue(counts, key) ?? 0) + change;
  if (sum === 0) delete counts[key];
  else setOwn(counts, key, sum);
}

/** Returns an own property; undefined for inherited ones. */
export function ownValue<V>(record: Record<string, V>, key: string): V | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
