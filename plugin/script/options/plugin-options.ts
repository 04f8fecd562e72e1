/** The plugin's options, and the environment variables that take precedence over them; settings.ts reads both. */
import { z } from 'zod';
import { TRANSPORTS, type Transport, type TransportsName } from '../../../protocol/connection.ts';
import { MAX_BROADCAST_BYTES } from '../../../protocol/events.ts';
import { ROOM_ORDERS } from '../../../protocol/rooms.ts';
import { durationSchema } from '../duration.ts';
import { deliverySchema } from './delivery-options.ts';
import { faultSchema } from './fault-options.ts';
import { tlsSchema } from './tls-options.ts';
import { layersSchema, workerSourcesSchema } from './worker-sources.ts';

const seconds = z.number().nonnegative();
const positive = z.number().int().positive();

export const optionsSchema = z.strictObject({
  /** Room that the scenario's virtual users join, and that receives the broadcasts. */
  room: z.string().min(1).default('capacity'),
  broadcasts: z
    .strictObject({
      count: z.number().int().nonnegative().default(20),
      /** Seconds between two intended send times. */
      interval: z.number().positive().default(1),
      /** Characters of payload. */
      bytes: positive.max(MAX_BROADCAST_BYTES, `expected at most ${MAX_BROADCAST_BYTES}`).default(1000),
      /** The payload is that many bytes in place of characters, and travels as an attachment. */
      binary: z.boolean().default(false),
      /** How many with 75, 50 and 25 % of the connections, as these leave; 0 for none. */
      byConnections: z.number().int().nonnegative().default(0),
    })
    .prefault({}),
  /** In place of the one room: connections that join it are spread over these, and broadcasts go to one of them each. */
  rooms: z
    .strictObject({
      count: positive.default(1),
      /** How many of them each connection joins. */
      perConnection: positive.default(1),
      /** In which broadcasts go to them. */
      order: z.enum(ROOM_ORDERS).default('turn'),
      /** Of the random order. */
      seed: z.number().int().nonnegative().default(1),
    })
    .prefault({}),
  delivery: deliverySchema.optional(),
  /** Memory over time: virtual users come and go, and memory is read again and again. In place of hold and broadcasts. */
  overTime: z
    .strictObject({
      /** Whether the workers collect their garbage before each reading. */
      collect: z.boolean().default(true),
      /** Seconds between two readings while virtual users come and go; without it, memory is read when each wave has left. */
      every: z.number().min(2).optional(),
    })
    .optional(),
  /** What happens to the deployment, or to the connections, while broadcasts go on. */
  fault: faultSchema.optional(),
  /** Idle seconds with all connections open, for the CPU cost of idle connections; or for the messages that they send. */
  hold: seconds.default(10),
  /** Short connections per worker before the baseline, which is then that of a warm server; 0 for none. */
  warmUp: z.number().int().nonnegative().default(1000),
  /** Unloaded round trips of a broadcast, before the load. */
  singleRoundTrips: z.number().int().nonnegative().default(20),
  drain: z
    .strictObject({
      /** Seconds without a receipt after which the delivery of the last broadcast counts as complete. */
      quiet: seconds.default(1),
      /** Seconds after the last broadcast at which the ledgers are finalized in any case. */
      deadline: z.number().positive().default(15),
    })
    .prefault({}),
  /**
   * Where the workers' control namespace listens, and how it speaks TLS where that is not as the load does. If set, the target is a server of your own: a run then never starts a
   * stack, and a target that refuses connections is an error. Otherwise, if nothing listens on a target on this machine,
   * the run starts a stack for its duration; a running stack is found by its state file.
   */
  control: z
    .strictObject({ urls: z.array(z.url()).min(1), token: z.string().min(16).optional(), tls: tlsSchema.optional() })
    .optional(),
  /** `full`: nginx, PM2 and Redis. `embedded`: one worker with the in-memory adapter, no proxy. */
  profile: z.enum(['full', 'embedded']).default('full'),
  /**
   * A number: Socket.IO workers of a stack that the run starts; default: as many as cores and file descriptors ask for.
   * Otherwise the target is a server of your own, and this is what tells of its memory and CPU.
   */
  workers: z.union([positive, workerSourcesSchema]).optional(),
  /** What tells of the memory and CPU of a proxy or Redis that the run has not started: as of `workers`, for each. */
  layers: layersSchema.optional(),
  /** Memory of the Socket.IO workers for which the capacity is computed. */
  memoryBudgetBytes: positive.default(2 * 1024 ** 3),
  /** A page on loopback that shows the run while it is running; port 0 takes a free one. */
  live: z.union([z.boolean(), z.strictObject({ port: z.number().int().min(0).max(65_535).default(0) })]).default(false),
  /** Folder that gets one folder per run. */
  results: z.string().min(1).default('results'),
});

export const environmentSchema = z.object({
  TARGET: z.url({ protocol: /^(https?|wss?)$/ }).optional(),
  RATE: z.coerce.number().int().positive().optional(),
  HOLD: z.coerce.number().nonnegative().optional(),
  BROADCASTS: z.coerce.number().int().nonnegative().optional(),
  /** In place of `rooms.count`. */
  ROOMS: z.coerce.number().int().positive().optional(),
  /** In place of `overTime.collect`. */
  COLLECT: z.stringbool({ error: 'must be on or off' }).optional(),
  /** With `overTime` or `fault`: connections of each phase that has any. */
  CONNECTIONS: z.coerce.number().int().positive().optional(),
  /** With `overTime`: how long each phase with arrivals lasts, such as `4h`. */
  DURATION: durationSchema.optional(),
  PROFILE: z.enum(['full', 'embedded']).optional(),
  /** In place of the engine's option `transports`. */
  TRANSPORTS: z
    .enum(Object.keys(TRANSPORTS) as TransportsName[])
    .transform((name): readonly Transport[] => TRANSPORTS[name])
    .optional(),
  /** In place of the engine's option `compression`. */
  COMPRESSION: z.stringbool({ error: 'must be on or off' }).optional(),
  /** The stack of the run speaks TLS. */
  TLS: z.stringbool({ error: 'must be on or off' }).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  /** Of the Redis that a stack starts: a single one, or the nodes of a Redis Cluster, of which no fewer than three are one. */
  REDIS_NODES: z.coerce
    .number()
    .int()
    .refine((count) => count === 1 || (count >= 3 && count <= 16), 'expected 1, or 3 to 16 nodes of a Redis Cluster')
    .optional(),
  /** In place of the option `live`: 0 for no page, 1 for one on a free port, or its port. */
  CAPACITY_LIVE: z.coerce.number().int().min(0).max(65_535).optional(),
  /** In place of the option `results`. */
  CAPACITY_RESULTS: z.string().optional(),
  /** Control addresses of the workers, with commas between them. */
  CAPACITY_CONTROL: z
    .string()
    .refine((urls) => urls.split(',').every((url) => URL.canParse(url)), 'expected URLs, separated by commas')
    .optional(),
  CAPACITY_TOKEN: z.string().min(16).optional(),
  /** The engine of environment `stock`. */
  STOCK_ENGINE: z.enum(['socketio', 'socketio-v3']).default('socketio'),
});

/** Of a host that brings its share of a load that is conducted elsewhere; without the first one, nobody reads the others. */
export const hostSchema = z.object({
  /** The line that `npx socketio-capacity conduct` prints. */
  CAPACITY_CONDUCTOR: z.string(),
  /** Hosts that share the load. */
  CAPACITY_HOSTS: z.coerce.number().int().positive().default(1),
  /** Which of them this is, from 0. Without it, all must have the same share. */
  CAPACITY_HOST: z.coerce.number().int().nonnegative().optional(),
});

/** How the terminal's environment changes the output; it does not affect what is measured. */
export const terminalSchema = z.object({
  /** Any value: no live line. */
  CI: z.string().optional(),
  /** `dumb`: no live line. */
  TERM: z.string().optional(),
  /** Any value: no colours. */
  NO_COLOR: z.string().optional(),
});

export type PluginOptions = z.infer<typeof optionsSchema>;
export type Environment = z.infer<typeof environmentSchema>;
export type OverTime = NonNullable<PluginOptions['overTime']>;
