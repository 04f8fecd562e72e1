/** Socket.IO's default adapter: each worker is on its own. */
import { z } from 'zod';
import { defineAdapter } from './adapter.ts';

export const inMemory = defineAdapter({
  help: 'Socket.IO’s own: a broadcast reaches the members on the worker that publishes it',
  clustered: false,
  recovers: true,
  environment: z.object({}),
  connect: async () => ({ nameAndVersion: 'in-memory', errors: () => 0, close: async () => {} }),
});
