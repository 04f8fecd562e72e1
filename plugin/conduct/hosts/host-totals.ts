/** Artillery's own metrics of each host. A host sends them when Artillery ends, and the conductor adds them up. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { sumCounts } from '../../../protocol/base/sum-counts.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { boundedCounts, boundedName, boundedRecord } from '../../../protocol/link/bounded-schemas.ts';
import type { ArtilleryStats } from '../../result/artillery-stats.ts';

/** Maximum length of an encoded distribution (DDSketch), whose usual size is 16 KB. */
const MAX_SKETCH_LENGTH = 2 ** 17;
const sketch = z.base64().max(MAX_SKETCH_LENGTH);

export const hostTotalsSchema = z.object({
  counters: boundedCounts,
  rates: boundedCounts,
  /** Encoded distribution (DDSketch) of each metric. */
  sketches: boundedRecord(sketch),
});
export type HostTotals = z.infer<typeof hostTotalsSchema>;

/**
 * Converts Artillery's metrics to the schema. Drops metrics that the schema does not accept, because plugins can set
 * any name and value.
 */
export function hostTotalsOf({ counters, rates, histograms = {} }: ArtilleryStats): HostTotals {
  const encoded = Object.entries(histograms).map(([key, value]) => {
    const bytes = tryOrUndefined(() => value.toProto());
    return [key, bytes && Buffer.from(bytes).toString('base64')];
  });
  return {
    counters: entriesOf(boundedCounts, counters),
    rates: entriesOf(boundedCounts, rates),
    sketches: entriesOf(boundedRecord(sketch), Object.fromEntries(encoded)),
  };
}

function entriesOf<T>(schema: z.ZodType<Record<string, T>>, given: Record<string, unknown> = {}): Record<string, T> {
  const valid = Object.entries(given).filter(([key, value]) => {
    return boundedName.safeParse(key).success && schema.safeParse({ [key]: value }).success;
  });
  return Object.fromEntries(valid) as Record<string, T>;
}

interface Sketch {
  merge(other: Sketch): void;
}

interface Libraries {
  DDSketch: { fromProto(bytes: Uint8Array): Sketch };
  summarizeHistogram(sketch: Sketch): Record<string, number>;
}

type MergeTotals = (hosts: readonly HostTotals[]) => ArtilleryStats;

/**
 * Loads the code with which Artillery merges distributions.
 * @param artillery folder of Artillery's package
 */
export async function loadTotalsMerge(artillery: string): Promise<MergeTotals> {
  const { DDSketch } = createRequire(join(artillery, 'package.json'))('@artilleryio/sketches-js') as Libraries;
  const ssms = pathToFileURL(join(artillery, 'dist/lib/core/ssms.js')).href;
  const { summarizeHistogram } = (await import(ssms)) as Libraries;
  return (hosts) => {
    const merged = new Map<string, Sketch>();
    for (const [key, text] of hosts.flatMap(({ sketches }) => Object.entries(sketches))) {
      const sketch = DDSketch.fromProto(Buffer.from(text, 'base64'));
      const sum = merged.get(key);
      if (sum) sum.merge(sketch);
      else merged.set(key, sketch);
    }
    return {
      counters: sumCounts(hosts.map(({ counters }) => counters)),
      rates: sumCounts(hosts.map(({ rates }) => rates)),
      summaries: Object.fromEntries([...merged].map(([key, sketch]) => [key, summarizeHistogram(sketch)])),
    };
  };
}
