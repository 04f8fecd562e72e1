/** Which server a figure is of: what it does other than a plain Socket.IO server, as far as `instrument(io)` sees it. */
import { z } from 'zod';

export const serverSchema = z.strictObject({
  kind: z
    .enum(['tuned', 'untuned', 'plain', 'own'])
    .describe('the included server with or without its [tunings](./server.md), or without Socket.IO; or another one'),
  tunings: z.record(z.string(), z.string()).describe('`on` or `off` for each tuning of the included server'),
  options: z.record(z.string(), z.string()).describe('options of Engine.IO, Socket.IO and Node'),
});

export type ServerDescription = z.infer<typeof serverSchema>;
