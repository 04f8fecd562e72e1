/**
 * Schemas of a worker's replies to control requests. Replies are validated, because any server can listen at a control
 * address.
 */
import { z } from 'zod';
import { boundedList, boundedName, boundedRecord, boundedText, LARGEST_FIGURE } from '../link/bounded-schemas.ts';
import { profileReplySchema } from '../profiles/profile-schema.ts';
import { serverSchema } from '../result/server-schema.ts';

const figure = z.number().nonnegative().lte(LARGEST_FIGURE);
const total = z.int().nonnegative();
const worker = boundedName.min(1);
const eventLoop = z.object({ utilization: figure, delayP50Ms: figure, delayP99Ms: figure, delayMaxMs: figure });

const hostSchema = z.object({
  /** Id of the kernel. Processes with the same kernel, including containers, share clock, memory and sockets. */
  kernel: boundedName,
  /** Id of the process's namespace of process ids. A container has its own namespace. */
  pidNamespace: boundedName,
});

const limitSchema = z.object({
  max: figure,
  used: figure,
  /** Id of the control group that has the limit. Processes on the same kernel with the same id share the limit. */
  group: boundedText,
});

/** CPU quota, and its use since the control group was created if that can be read. */
const quotaSchema = z.object({
  /** Number of cores that the quota allows: quota ÷ period. */
  cores: figure.gt(0),
  /** Number of periods in which the control group had something to run. */
  periods: figure.optional(),
  /** Number of periods in which the control group used up its quota and was stopped until the next period. */
  throttledPeriods: figure.optional(),
  throttledUs: figure.optional(),
  group: limitSchema.shape.group,
});

/** Limits of control groups. The process's own group comes first. A list is empty if there are no limits. */
const cgroupSchema = z.object({
  cpu: boundedList(quotaSchema),
  /**
   * Memory limits in bytes. `used` excludes file cache that the kernel can drop, and is missing if it cannot be read.
   */
  memory: boundedList(limitSchema.partial({ used: true })),
  /** Limits on the number of processes and threads. */
  tasks: boundedList(limitSchema),
});

/** CPU times of a machine since its boot, in microseconds. */
const cpuSchema = z.object({
  /** User, system, interrupt and steal time of the CPUs. */
  busyUs: figure,
  idleUs: figure,
  /** Part of the busy time in which the hypervisor ran other virtual machines. */
  stealUs: figure,
  /** Part of the busy time in which the kernel handled interrupts. No process is charged for it. */
  interruptUs: figure,
});

/** Machine of the worker's process. For a container, it is the host machine. */
const machineSchema = z.object({
  hostname: boundedName,
  /** Id of the kernel, as in `Host.kernel`. Two workers with the same id are on the same machine. */
  kernel: boundedName,
  /** CPU model. */
  model: boundedName.optional(),
  /** Kernel with its release, such as `Linux 6.18.44`. */
  system: boundedName.optional(),
  cores: total,
  memoryBytes: figure,
  /** Memory that is neither free nor in a cache that the kernel can drop. */
  usedBytes: figure.optional(),
  /** TCP buffers of the whole machine. */
  tcpBytes: figure.optional(),
  /** CPU times of all cores of the machine. */
  cpu: cpuSchema.optional(),
});

export const CONTROL_REPLY_SCHEMAS = {
  broadcast: z.object({
    seq: total,
    sentAtUs: figure,
    worker,
    /** Number of members of the room on all workers, counted directly before the send. Null with `count: false`. */
    expected: total.nullable(),
    /** Number of other workers with members in the room. Undefined with `count: false`. */
    otherWorkers: total.optional(),
  }),
  /** Number of members of a room on all workers. */
  members: z.object({ worker, members: total }),
  /** Number of servers that the cluster adapter counts, including this server. */
  servers: z.object({ worker, servers: total }),
  /** Reply to `gc`. Sent after a full garbage collection has finished. */
  gc: z.object({ worker, durationMs: figure }),
  /** Statistics of the worker. If a collection was requested, memory is read after it. */
  stats: z.object({
    worker,
    /** Random id that each call of `instrument(io)` creates. Worker names and process ids can occur twice. */
    instance: boundedName,
    /** Version of the package that instruments the server. */
    version: boundedName,
    pid: total,
    host: hostSchema,
    uptimeSeconds: figure,
    /** Number of Engine.IO connections, without connections to the control namespace. */
    connections: total,
    /** Number of connections accepted so far, including connections that have closed. */
    accepted: total,
    rooms: total,
    /** Number of namespaces that exist. Missing for servers without namespaces. */
    namespaces: total.optional(),
    broadcasts: total,
    rssBytes: figure,
    heapUsedBytes: figure,
    /** V8's `external` memory, which includes ArrayBuffers. */
    externalBytes: figure,
    cpuUserUs: figure,
    cpuSystemUs: figure,
    /** State of the event loop since the previous `stats`. */
    eventLoop,
    versions: z.object({
      node: boundedName,
      socketIo: boundedName,
      adapter: boundedName,
      webSocketEngine: boundedName,
    }),
    /** Number of full garbage collections of the process so far, whether they were forced or not. */
    collections: total,
    server: serverSchema.extend({ tunings: boundedRecord(boundedName), options: boundedRecord(boundedText) }),
    /** Key of the Redis stream that the adapter writes to, if there is one. */
    stream: boundedName.optional(),
  }),
  /**
   * Resources that the process uses, their limits, and the machine. A value that the system does not provide is
   * missing. The request takes some milliseconds.
   */
  resources: z
    .object({
      worker,
      /** Proportional set size of the process (PSS). */
      pssBytes: figure.optional(),
      /** Bytes that are allocated in the heap of `malloc`. Missing if the allocator is not glibc's. */
      mallocBytes: figure.optional(),
      /** Bytes of compiled code in V8's heap. Missing if the runtime is not V8. */
      codeBytes: figure.optional(),
      /** Number of files and sockets that the process has open. */
      openFiles: total.optional(),
      /** Limit of open files for the process; null if there is none. */
      openFilesLimit: figure.nullable(),
      cgroup: cgroupSchema,
      /** Number of cores that the process can use. A CPU quota can limit it. */
      usableCores: figure.gt(0),
      machine: machineSchema,
    })
    .refine(({ usableCores, machine }) => usableCores <= Math.max(1, machine.cores), 'more cores than there are'),
  /** Batches of events that the server has handled since the previous request. */
  batches: z.object({
    worker,
    batches: total,
    /** Number of batches handled by the server's own handler. */
    ownHandler: total,
    events: total,
    /** Time from the call of the handler to its acknowledgement. Null if there were no batches. */
    handlerMs: z.object({ p50: figure, p95: figure, max: figure }).nullable(),
    /** State of the event loop. Its delay is the time for which received messages waited. */
    eventLoop,
  }),
  /** State of the event loop between the start and the end of a recording. */
  eventLoop: z.object({
    worker,
    /** End of each interval, in seconds since the start. A long recording has longer intervals. */
    seconds: boundedList(figure),
    /** Maximum of the event loop delay in each interval. */
    delayP99Ms: boundedList(figure),
    delayMaxMs: boundedList(figure),
  }),
  /** Heap or CPU profile of the worker. The reply to `take` contains the profile. */
  profile: profileReplySchema.extend({ worker }),
  /** Clock of the server, with which the run computes the offset between two hosts. */
  time: z.object({ monotonicUs: figure }),
};

export type ControlRequest = keyof typeof CONTROL_REPLY_SCHEMAS;
export type ControlAnswer<Name extends ControlRequest> = z.output<(typeof CONTROL_REPLY_SCHEMAS)[Name]>;
export type BroadcastSent = ControlAnswer<'broadcast'>;
export type WorkerStats = ControlAnswer<'stats'>;
export type WorkerResources = ControlAnswer<'resources'>;
export type WorkerBatches = ControlAnswer<'batches'>;
export type WorkerEventLoop = ControlAnswer<'eventLoop'>;
export type WorkerMachine = z.output<typeof machineSchema>;
export type HostInfo = z.output<typeof hostSchema>;
export type Cgroup = z.output<typeof cgroupSchema>;
export type CpuQuota = z.output<typeof quotaSchema>;
export type CgroupLimit = z.output<typeof limitSchema>;
export type CpuReading = z.output<typeof cpuSchema>;
