/**
 * `capacity-baseline.json`: results that later ones are checked against. It is meant to be kept under version control.
 */
import { z } from 'zod';
import { type Result, resultSchema } from '../result/result.ts';
import { byName } from '../result/shared-schemas.ts';

export const baselineFileSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** By name, e.g. `main`. */
  baselines: byName(
    z.strictObject({
      savedAt: z.string(),
      /** One, or repeats; abridged. */
      results: z.array(resultSchema).min(1),
    }),
  ),
});

export type BaselineFile = z.infer<typeof baselineFileSchema>;

/** The same result without the long lists that no comparison needs. */
export function abridged(result: Result): Result {
  return {
    ...result,
    samples: [],
    workersOverTime: [],
    connections: { ...result.connections, overTime: null },
    delivery: result.delivery && { ...result.delivery, batches: [] },
    latency: { ...result.latency, histograms: {} },
    memory: { ...result.memory, layers: [] },
  };
}
