/** Which server a figure is of: what it does other than a plain Socket.IO server, as far as `instrument(io)` sees it. */
import { z } from 'zod';

export const serverSchema = z.strictObject({
  /**
   * `tuned` and `untuned` are the included server with and without its tunings, `plain` the included one without
   * Socket.IO; `own` is any other one.
   */
  kind: z.enum(['tuned', 'untuned', 'plain', 'own']),
  /** Of the included server: `on` or `off` for each tuning. Empty for any other one. */
  tunings: z.record(z.string(), z.string()),
  /** As Engine.IO and Socket.IO have them, and Node's flags. */
  options: z.record(z.string(), z.string()),
});

export type ServerDescription = z.infer<typeof serverSchema>;
