/** Which server a figure is of: what it does other than a plain Socket.IO server, as far as `instrument(io)` sees it. */
import { z } from 'zod';
import { byName, object } from './shared-schemas.ts';

export const serverSchema = object({
  kind: z
    .enum(['tuned', 'untuned', 'plain', 'own'])
    .describe('the included server with or without its [tunings](./server.md), or without Socket.IO; or another one'),
  tunings: byName(z.string()).describe('`on` or `off` for each tuning of the included server'),
  options: byName(z.string()).describe('options of Engine.IO, Socket.IO and Node'),
});

export type ServerDescription = z.infer<typeof serverSchema>;
