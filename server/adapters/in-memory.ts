/** Socket.IO's default adapter: each worker is on its own. */
import { z } from 'zod';
import { defineAdapter } from './adapter.ts';

export const inMemory = defineAdapter({
  clustered: false,
  recovers: true,
  environment: z.object({}),
  connect: async () => ({ errors: () => 0, close: async () => {} }),
});
