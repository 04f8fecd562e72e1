/** What the run showed about the deployment, as opposed to whether the measurement can be trusted. */
import { z } from 'zod';

/** Null in results of older versions. */
export const outcomeSchema = z
  .strictObject({
    /** `UNKNOWN`: an INVALID measurement shows neither. */
    status: z.enum(['PASSED', 'FAILED', 'UNKNOWN']),
    /** Those of `ensure`, and what everybody expects where these say nothing of it. Empty if UNKNOWN. */
    thresholds: z.array(
      z.strictObject({
        /** The same in every run: `every member receives every broadcast`, or the expression of `ensure`. */
        name: z.string(),
        met: z.boolean(),
        /** If false, missing it fails nothing. */
        strict: z.boolean(),
        /** With what was found: `delivery 50.00 % of members, threshold 100 %`. */
        text: z.string(),
      }),
    ),
  })
  .nullable();

export type Outcome = NonNullable<z.infer<typeof outcomeSchema>>;
