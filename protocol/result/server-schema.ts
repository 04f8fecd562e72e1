/** Describes the measured server: its differences from a plain Socket.IO server, as far as `instrument(io)` can read them. */
import { z } from 'zod';
import { byName, object } from './shared-schemas.ts';

export const serverSchema = object({
  kind: z
    .enum(['tuned', 'untuned', 'plain', 'own'])
    .describe(
      '`tuned`, `untuned` or `plain` (without Socket.IO): the bundled server and its [tunings](./server.md); `own`: any other server',
    ),
  tunings: byName(z.string()).describe('`on` or `off` for each tuning of the bundled server'),
  options: byName(z.string()).describe('options of Engine.IO, Socket.IO and Node'),
});

export type ServerDescription = z.infer<typeof serverSchema>;
