/** What a worker answers to each control request. Anybody's server can be at a control address, so that answers are parsed. */
import { z } from 'zod';
import { byName, LARGEST_FIGURE, list, name, sentence } from '../link/bounded-schemas.ts';
import { takenSchema } from '../profiles/profile-schema.ts';
import { serverSchema } from '../result/server-schema.ts';

const figure = z.number().nonnegative().lte(LARGEST_FIGURE);
const total = z.int().nonnegative();
const worker = name.min(1);
const eventLoop = z.object({ utilization: figure, delayP50Ms: figure, delayP99Ms: figure, delayMaxMs: figure });

const hostSchema = z.object({
  /** The same for all processes of one kernel, containers included: they share clock, memory and sockets. */
  kernel: name,
  /** The same for all processes that share process ids. A container has its own. */
  pidNamespace: name,
});

const limitSchema = z.object({
  max: figure,
  used: figure,
  /** The same for all processes of one kernel that share the limit. */
  group: sentence,
});

/** A quota of CPU time, and what became of it since the group exists, if the kernel lets the worker read that. */
const quotaSchema = z.object({
  /** How many cores it is worth: quota ÷ period. */
  cores: figure.gt(0),
  /** In which the group had something to run. */
  periods: figure.optional(),
  /** Periods in which the group had used up its quota, and was stopped until the next. */
  throttledPeriods: figure.optional(),
  throttledUs: figure.optional(),
  group: limitSchema.shape.group,
});

/** The process's own group first. Without a limit, a list is empty. */
const cgroupSchema = z.object({
  cpu: list(quotaSchema),
  /** Bytes. Used is without the file cache that the kernel can drop; missing where that may not be read. */
  memory: list(limitSchema.partial({ used: true })),
  /** Processes and threads. */
  tasks: list(limitSchema),
});

/** Since boot. */
const cpuSchema = z.object({
  /** User, system, interrupt and steal time. */
  busyUs: figure,
  idleUs: figure,
  /** The part of the busy time in which the hypervisor ran something else. */
  stealUs: figure,
  /** The part of the busy time in which the kernel handled interrupts, for no process. */
  interruptUs: figure,
});

/** As the worker's process sees it; a container sees the machine that it runs on. */
const machineSchema = z.object({
  hostname: name,
  /** As in `Host`: the machine of two workers is the same if their kernel is. */
  kernel: name,
  /** CPU model. */
  model: name.optional(),
  /** CPU model and kernel, like `MachineKind`. */
  system: name.optional(),
  cores: total,
  memoryBytes: figure,
  /** Neither free nor in caches that the kernel can drop. */
  usedBytes: figure.optional(),
  /** TCP buffers in all containers. */
  tcpBytes: figure.optional(),
  /** All its cores. */
  cpu: cpuSchema.optional(),
});

export const REPLIES = {
  broadcast: z.object({
    seq: total,
    sentAtUs: figure,
    worker,
    /** Members of the room on all workers, counted just before sending; null if they were not to be counted. */
    expected: total.nullable(),
    /** How many other workers have any of them; undefined if they were not to be counted. */
    otherWorkers: total.optional(),
  }),
  /** Of the room, on all workers. */
  members: z.object({ worker, members: total }),
  /** That its cluster adapter counts, itself included. */
  servers: z.object({ worker, servers: total }),
  /** When a full garbage collection is done. */
  gc: z.object({ worker, durationMs: figure }),
  /** Memory in bytes, after a `gc` if one was requested. */
  stats: z.object({
    worker,
    /** Another one each time `instrument(io)` is called: names and process ids repeat. */
    instance: name,
    /** Version of the package that answers. */
    version: name,
    pid: total,
    host: hostSchema,
    uptimeSeconds: figure,
    /** Connections of the measured namespaces (Engine.IO clients without those of the control namespace). */
    connections: total,
    /** Those that it has accepted so far, also the ones that have ended. */
    accepted: total,
    rooms: total,
    /** That have been made so far and still are there; missing for servers without any. */
    namespaces: total.optional(),
    broadcasts: total,
    rssBytes: figure,
    heapUsedBytes: figure,
    /** V8's `external`, which includes ArrayBuffers. */
    externalBytes: figure,
    cpuUserUs: figure,
    cpuSystemUs: figure,
    /** Since the previous `stats`. */
    eventLoop,
    versions: z.object({ node: name, socketIo: name, adapter: name, webSocketEngine: name }),
    /** Complete garbage collections of the process so far, ordered or not. */
    collections: total,
    server: serverSchema.extend({ tunings: byName(name), options: byName(sentence) }),
    /** Key of the Redis stream that its adapter writes to, if it does. */
    stream: name.optional(),
  }),
  /** What its process has and may use, and its machine. What its system does not tell is missing. Takes some milliseconds. */
  resources: z
    .object({
      worker,
      /** Proportional set size. */
      pssBytes: figure.optional(),
      /** Files and sockets that it has open. */
      openFiles: total.optional(),
      /** How many it can have open; null without a limit. */
      openFilesLimit: figure.nullable(),
      cgroup: cgroupSchema,
      /** That it can use: CPUs, or what a quota allows. */
      usableCores: figure.gt(0),
      machine: machineSchema,
    })
    .refine(({ usableCores, machine }) => usableCores <= Math.max(1, machine.cores), 'more cores than there are'),
  /** What it did with the batches of events, since the previous request for it. */
  batches: z.object({
    worker,
    batches: total,
    /** Left to the server's own handler. */
    ownHandler: total,
    events: total,
    /** From the call of the handler until it has acknowledged; null without any batch. */
    handlerMs: z.object({ p50: figure, p95: figure, max: figure }).nullable(),
    /** How long whatever arrived waited for the event loop. */
    eventLoop,
  }),
  /** From the request that began the recording to the one that ended it. */
  eventLoop: z.object({
    worker,
    /** Ends of the intervals, in seconds since the beginning; they become longer as the time does. */
    seconds: list(figure),
    /** The highest of each interval's seconds. */
    delayP99Ms: list(figure),
    delayMaxMs: list(figure),
  }),
  /** Where it allocates, or uses CPU: after `take`, what it has noted. */
  profile: takenSchema.extend({ worker }),
  /** The server's clock, for estimating the offset between two hosts. */
  time: z.object({ monotonicUs: figure }),
};

export type ControlRequest = keyof typeof REPLIES;
export type Answer<Name extends ControlRequest> = z.output<(typeof REPLIES)[Name]>;
export type BroadcastSent = Answer<'broadcast'>;
export type WorkerStats = Answer<'stats'>;
export type WorkerResources = Answer<'resources'>;
export type WorkerBatches = Answer<'batches'>;
export type WorkerEventLoop = Answer<'eventLoop'>;
export type WorkerMachine = z.output<typeof machineSchema>;
export type Host = z.output<typeof hostSchema>;
export type Cgroup = z.output<typeof cgroupSchema>;
export type CpuQuota = z.output<typeof quotaSchema>;
export type GroupLimit = z.output<typeof limitSchema>;
export type CpuReading = z.output<typeof cpuSchema>;
