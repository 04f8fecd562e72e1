/** Schemas of a worker's replies to control requests. Replies are parsed, because any server can be at a control address. */
import { z } from 'zod';
import { byName, LARGEST_FIGURE, list, name, sentence } from '../link/bounded-schemas.ts';
import { takenSchema } from '../profiles/profile-schema.ts';
import { serverSchema } from '../result/server-schema.ts';

const figure = z.number().nonnegative().lte(LARGEST_FIGURE);
const total = z.int().nonnegative();
const worker = name.min(1);
const eventLoop = z.object({ utilization: figure, delayP50Ms: figure, delayP99Ms: figure, delayMaxMs: figure });

const hostSchema = z.object({
  /** Equal for all processes of a kernel, including containers, which share clock, memory and sockets. */
  kernel: name,
  /** Equal for all processes that share process ids; a container has its own. */
  pidNamespace: name,
});

const limitSchema = z.object({
  max: figure,
  used: figure,
  /** Equal for all processes of a kernel that share the limit. */
  group: sentence,
});

/** A CPU quota, with its use since the group was created, if readable. */
const quotaSchema = z.object({
  /** Cores that the quota allows: quota ÷ period. */
  cores: figure.gt(0),
  /** Periods in which the group had something to run. */
  periods: figure.optional(),
  /** Periods in which the group used up its quota and was stopped until the next one. */
  throttledPeriods: figure.optional(),
  throttledUs: figure.optional(),
  group: limitSchema.shape.group,
});

/** Limits by group, the process's own group first; a list is empty without a limit. */
const cgroupSchema = z.object({
  cpu: list(quotaSchema),
  /** Bytes. `used` excludes file cache that the kernel can drop; missing if not readable. */
  memory: list(limitSchema.partial({ used: true })),
  /** Number of processes and threads. */
  tasks: list(limitSchema),
});

/** CPU times since boot. */
const cpuSchema = z.object({
  /** User, system, interrupt and steal time. */
  busyUs: figure,
  idleUs: figure,
  /** Part of the busy time in which the hypervisor ran other machines. */
  stealUs: figure,
  /** Part of the busy time in which the kernel handled interrupts, not attributed to a process. */
  interruptUs: figure,
});

/** The machine of the worker's process; in a container, its host machine. */
const machineSchema = z.object({
  hostname: name,
  /** Same as `Host.kernel`; two workers with the same kernel are on the same machine. */
  kernel: name,
  /** CPU model. */
  model: name.optional(),
  /** Kernel with its release, as in `MachineKind`. */
  system: name.optional(),
  cores: total,
  memoryBytes: figure,
  /** Memory that is neither free nor in caches that the kernel can drop. */
  usedBytes: figure.optional(),
  /** TCP buffers of the whole machine. */
  tcpBytes: figure.optional(),
  /** CPU times of all cores. */
  cpu: cpuSchema.optional(),
});

export const REPLIES = {
  broadcast: z.object({
    seq: total,
    sentAtUs: figure,
    worker,
    /** Members of the room on all workers, counted just before sending; null with `count: false`. */
    expected: total.nullable(),
    /** Number of other workers with members; undefined with `count: false`. */
    otherWorkers: total.optional(),
  }),
  /** Members of a room on all workers. */
  members: z.object({ worker, members: total }),
  /** Servers that the cluster adapter counts, including this one. */
  servers: z.object({ worker, servers: total }),
  /** Sent when a full garbage collection is done. */
  gc: z.object({ worker, durationMs: figure }),
  /** Statistics of the worker; memory after a `gc` if one was requested. */
  stats: z.object({
    worker,
    /** New for each call of `instrument(io)`, because names and process ids can repeat. */
    instance: name,
    /** Version of the instrumenting package. */
    version: name,
    pid: total,
    host: hostSchema,
    uptimeSeconds: figure,
    /** Engine.IO connections, without those to the control namespace. */
    connections: total,
    /** Connections accepted so far, including closed ones. */
    accepted: total,
    rooms: total,
    /** Existing namespaces; missing for servers without namespaces. */
    namespaces: total.optional(),
    broadcasts: total,
    rssBytes: figure,
    heapUsedBytes: figure,
    /** V8's `external`, which includes ArrayBuffers. */
    externalBytes: figure,
    cpuUserUs: figure,
    cpuSystemUs: figure,
    /** Window since the previous `stats`. */
    eventLoop,
    versions: z.object({ node: name, socketIo: name, adapter: name, webSocketEngine: name }),
    /** Full garbage collections of the process so far, forced or not. */
    collections: total,
    server: serverSchema.extend({ tunings: byName(name), options: byName(sentence) }),
    /** Key of the Redis stream that its adapter writes to, if any. */
    stream: name.optional(),
  }),
  /**
   * Use and limits of the process's resources, and its machine. Values that the system does not provide are missing. Takes some
   * milliseconds.
   */
  resources: z
    .object({
      worker,
      /** Proportional set size. */
      pssBytes: figure.optional(),
      /** Heap of `malloc`; missing if the process has another allocator than glibc's. */
      mallocBytes: figure.optional(),
      /** Number of open files and sockets. */
      openFiles: total.optional(),
      /** Limit of open files; null without a limit. */
      openFilesLimit: figure.nullable(),
      cgroup: cgroupSchema,
      /** Cores that it can use, limited by a quota. */
      usableCores: figure.gt(0),
      machine: machineSchema,
    })
    .refine(({ usableCores, machine }) => usableCores <= Math.max(1, machine.cores), 'more cores than there are'),
  /** Handling of event batches since the previous request. */
  batches: z.object({
    worker,
    batches: total,
    /** Batches taken by the server's own handler. */
    ownHandler: total,
    events: total,
    /** Time from the call of the handler to its acknowledgement; null without batches. */
    handlerMs: z.object({ p50: figure, p95: figure, max: figure }).nullable(),
    /** Event loop, whose delay is the time for which arrived messages waited. */
    eventLoop,
  }),
  /** Event loop from the request that began the recording to the one that ended it. */
  eventLoop: z.object({
    worker,
    /** Ends of the intervals, in seconds since the start; intervals are merged in long recordings. */
    seconds: list(figure),
    /** Highest value of each interval. */
    delayP99Ms: list(figure),
    delayMaxMs: list(figure),
  }),
  /** Heap or CPU profile of the worker; contains the profile after `take`. */
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
