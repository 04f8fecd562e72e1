import { z } from 'zod';
import { defineStep } from './step.ts';

/** `disconnect: true` closes the connection; a later step that needs one opens a new one. */
export const disconnect = defineStep({
  schema: z.strictObject({
    disconnect: z
      .literal(true, { error: 'write disconnect: true' })
      .describe('disconnects; a later step that needs a connection opens a new one'),
  }),
  compile: () => (user) => user.session.close(),
});
