/** Adds up counters by key. */
export function sumCounts(all: Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const counts of all) for (const [key, count] of Object.entries(counts)) total[key] = (total[key] ?? 0) + count;
  return total;
}
