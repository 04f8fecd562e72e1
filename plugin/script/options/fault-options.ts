/** The option `fault`: what happens to the deployment, or to the connections, while broadcasts go on. */
import { z } from 'zod';
import { FAULT_KINDS } from '../../../protocol/fault.ts';

export const faultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS).default('command'),
  /** Program and arguments. */
  command: z.array(z.string()).min(1).optional(),
  /** Seconds after the first broadcast; without broadcasts, after the hold. */
  at: z.number().nonnegative().default(10.5),
});

export type FaultOptions = z.infer<typeof faultSchema>;
