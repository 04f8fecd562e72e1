/**
 * The option `fault`: a planned fault of the deployment or of its connections, which happens while the run broadcasts.
 */
import { z } from 'zod';
import { FAULT_KINDS } from '../../../protocol/wire/fault-kinds.ts';

export const faultOptionsSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS).default('command').describe('kind of fault; the first four need the bundled deployment'),
  command: z.array(z.string()).min(1).optional().describe('program and arguments; stopped after five minutes'),
  at: z
    .number()
    .nonnegative()
    .default(10.5)
    .describe('seconds after the first broadcast, or after the hold without broadcasts'),
});

export type FaultOptions = z.infer<typeof faultOptionsSchema>;
