/** `capacity-baseline.json`: results that later ones are compared with. Meant to be kept under version control. */
import { z } from 'zod';
import { type Result, resultSchema } from '../result/result.ts';
import { byName } from '../result/shared-schemas.ts';

export const baselineFileSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** Baselines by name, such as `main`. */
  baselines: byName(
    z.strictObject({
      savedAt: z.string(),
      /** A result or several repeats, abridged. */
      results: z.array(resultSchema).min(1),
    }),
  ),
});

export type BaselineFile = z.infer<typeof baselineFileSchema>;

/** Returns the result without the long lists that comparisons do not use. */
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
