/** Socket.IO's own adapter, which every server begins with: each worker is by itself. */
import { z } from 'zod';
import { defineAdapter } from './adapter.ts';

export const inMemory = defineAdapter({
  clustered: false,
  environment: z.object({}),
  connect: async () => ({ errors: () => 0, close: async () => {} }),
});
