/**
 * Adds up counters that have the same key. A server can choose the keys, so a key can be `constructor` or `__proto__`.
 */
export function sumCounts(all: Record<string, number>[]): Record<string, number> {
  const total = new Map<string, number>();
  for (const counts of all) {
    for (const [key, count] of Object.entries(counts)) total.set(key, (total.get(key) ?? 0) + count);
  }
  return Object.fromEntries(total);
}

/** Sets an own property of an object, even if an inherited property has the same name. */
export function setOwnProperty<V>(record: Record<string, V>, key: string, value: V): void {
  Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Adds a number to a counter. The counter can have any name. A counter that becomes zero is removed. */
export function addToOwnCounter(counts: Record<string, number>, key: string, change: number): void {
  const sum = (ownProperty(counts, key) ?? 0) + change;
  if (sum === 0) delete counts[key];
  else setOwnProperty(counts, key, sum);
}

/** Returns an own property of an object; undefined for an inherited property. */
export function ownProperty<V>(record: Record<string, V>, key: string): V | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
