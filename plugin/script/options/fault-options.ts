/** The option `fault`: what happens to the deployment, or to the connections, while broadcasts go on. */
import { z } from 'zod';
import { FAULT_KINDS } from '../../../protocol/wire/fault-kinds.ts';

export const faultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS).default('command').describe('what happens; the first four need the bundled deployment'),
  command: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('for `command`: program and arguments; stopped if it has not ended after five minutes'),
  at: z.number().nonnegative().default(10.5).describe('seconds after the first broadcast; without one, after the hold'),
});

export type FaultOptions = z.infer<typeof faultSchema>;
