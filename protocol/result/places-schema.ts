/** Memory and CPU per connection or per copy in the workers, by package and function. */
import { z } from 'zod';
import { listOfObjects, resultCount, strictObject } from './shared-schemas.ts';

/** Maximum number of functions in each list. The largest functions are listed. */
export const MAX_LISTED_FUNCTIONS = 20;

const ERROR = z.number().describe('half of its 95 % interval, which covers the sampling');
const PACKAGE = 'such as `engine.io`; `application`; `Node`; `native` (no JavaScript called it)';
const FUNCTION = {
  name: z.string().describe('name of the function'),
  place: z.string().describe('file and line where it begins: `session.ts:88`'),
  package: z.string().describe('as in `packages`'),
};

const bytes = {
  bytes: z.number().describe('per connection: allocated since the baseline, and still alive with all connections'),
  halfWidth95: ERROR,
};

export const memoryCodePlacesSchema = strictObject({
  connections: resultCount.describe('connections that share it'),
  leftBehind: z
    .literal(true)
    .optional()
    .describe('in waves: memory that closed connections have left behind, after the first wave'),
  growthBytes: z
    .number()
    .describe('memory per connection that V8 counts, heap and external, less the baseline, or the first wave'),
  packages: listOfObjects({
    name: z.string().describe(`${PACKAGE}; or \`external\` (buffers outside the heap)`),
    ...bytes,
  }).describe('by the package of the function, the largest first'),
  functions: listOfObjects({ ...FUNCTION, ...bytes }).describe(`by function, the largest ${MAX_LISTED_FUNCTIONS}`),
  unattributedBytes: z.number().describe('`growthBytes` less all packages'),
  savings: listOfObjects({
    name: z
      .enum(['first-request', 'compression', 'ws'])
      .describe('the first HTTP request, which Engine.IO keeps; per-message deflate; the WebSocket server `ws`'),
    bytes: z.number().describe('per connection, in this server'),
    url: z.string().describe('page of Socket.IO’s documentation'),
  })
    .optional()
    .describe('documented savings, if these places show them'),
});

const us = { us: z.number().describe('per connect or copy, without called functions'), halfWidth95: ERROR };

const cpuPlacesSchema = strictObject({
  units: resultCount.describe('connects or copies while it was profiled'),
  us: z
    .number()
    .describe('per connect or copy: CPU time of the processes, as the kernel counts it, without the profiler’s thread'),
  packages: listOfObjects({
    name: z.string().describe(`${PACKAGE}; \`garbage collection\`; or \`other threads\``),
    ...us,
  }).describe('by the package of the function, the largest first'),
  functions: listOfObjects({ ...FUNCTION, ...us }).describe(`by function, the largest ${MAX_LISTED_FUNCTIONS}`),
  unattributedUs: z.number().describe('`us` less all packages'),
  busyShare: z.number().describe('0 to 1: share of the time in which the processes were not idle'),
});

export const cpuByCodePlaceSchema = strictObject({
  connect: cpuPlacesSchema.optional().describe('per connect'),
  copy: cpuPlacesSchema.optional().describe('per copy of a broadcast'),
  absent: z.string().optional().describe('why the rest is missing'),
});

export type MemoryCodePlaces = z.infer<typeof memoryCodePlacesSchema>;
export type CpuByCodePlace = z.infer<typeof cpuByCodePlaceSchema>;
export type CpuCodePlaces = z.infer<typeof cpuPlacesSchema>;
