/**
 * Sections of the result document on the measured server: its options, its workers with their machines, and its
 * processes.
 */
import { z } from 'zod';
import { SERVER_RUNTIMES } from '../documents/server-runtimes.ts';
import { throttledSchema, windowPercentsSchema } from './machine-schema.ts';
import { listOfObjects, recordOf, resultCount, schemaOrNull, strictObject } from './shared-schemas.ts';

/** Settings in which the server differs from a default Socket.IO server, as far as `instrument(io)` can read them. */
export const serverSchema = strictObject({
  kind: z
    .enum(['tuned', 'untuned', 'plain', 'own'])
    .describe(
      '`tuned`, `untuned` or `plain` (without Socket.IO): the bundled server and its [tunings](./server.md); `own`: any other server',
    ),
  tunings: recordOf(z.string()).describe('`on` or `off` for each tuning of the bundled server'),
  options: recordOf(z.string()).describe('options of Engine.IO, Socket.IO and Node'),
});

export type ServerDescription = z.infer<typeof serverSchema>;

/** Sections of the result document on each worker: its limits, its machine, and its figures over time. */
export const workersSchema = listOfObjects({
  worker: z.string().describe('its name'),
  machine: resultCount.describe('its place in `workerMachines`, from 0'),
  usableCores: z.number().describe('CPUs that it can use, or the cores that its CPU quota allows'),
  openFiles: resultCount.nullable().describe('most files and sockets open'),
  openFilesLimit: resultCount.nullable().describe('limit of open files; null without a limit'),
  memoryLimitBytes: z.number().nullable().describe('its container’s limit; null without one'),
  container: resultCount.nullable().describe('workers with the same number share that limit'),
  throttled: throttledSchema,
});

export const workerMachinesSchema = listOfObjects({
  hostname: z.string().describe('host name reported by its first worker; in a container, the container’s'),
  isGenerators: z.boolean().describe('the generator runs on it, too'),
  model: z.string().optional().describe('CPU model; missing if an exporter reports the machine'),
  system: z.string().optional().describe('kernel with its release'),
  cores: resultCount.describe('its CPU cores'),
  memoryBytes: z.number().describe('total memory'),
  usedBytes: z.number().nullable().describe('highest memory that was neither free nor in droppable caches'),
  cpuIdlePercent: windowPercentsSchema.describe('idle CPU, as `machine.cpuIdlePercent`'),
  stealPercent: windowPercentsSchema.describe('share of its cores used by the hypervisor for other machines'),
});

const values = z.array(z.number());

/** Times use the same time axis as the samples. */
export const workersOverTimeSchema = listOfObjects({
  worker: z.string().describe('its name, or `process <id>`'),
  process: strictObject({ t: values, rssBytes: values, cpuPercent: z.array(z.number().nullable()) })
    .nullable()
    .describe('memory and CPU (100 is one core); null if it is on another machine'),
  eventLoop: strictObject({ t: values, delayP99Ms: values, delayMaxMs: values })
    .nullable()
    .describe('largest delays of its event loop'),
});

/** Section `processes` of the result document: the processes whose memory and CPU are measured. */
const identity = {
  pid: resultCount.describe('its process id'),
  command: z.string().describe('its command line, without credentials'),
  ports: z.array(resultCount).nullable().describe('TCP ports on which it listens; null if unknown'),
};

const PROCESS_ROLES = ['listens', 'started by a listener', 'starts a listener', 'apart', 'unknown'] as const;

export const processesSchema = schemaOrNull(
  strictObject({
    port: resultCount.nullable().describe('the target’s port on this machine'),
    unseen: z.string().nullable().describe('why its listeners are unknown'),
    measured: listOfObjects({
      layer: z.string().describe('the layer that has its memory and CPU'),
      ...identity,
      runtime: z.enum(SERVER_RUNTIMES).optional().describe('what runs it, by its program; `node` includes Deno'),
      role: z.enum(PROCESS_ROLES).describe('how it relates to the processes that listen on the target’s port'),
      holds: z
        .boolean()
        .nullable()
        .describe('whether it, a parent or a child held connections when all were connected; null if unknown'),
    }).describe('in the figures'),
    omitted: resultCount.describe('further processes'),
    notCounted: listOfObjects({ ...identity, why: z.string().describe('why it is in no figure') }).describe(
      'found by `match`, `pids` or `cgroup`, but not the server',
    ),
  }),
);

export type MeasuredProcesses = NonNullable<z.infer<typeof processesSchema>>;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/** Limits of the text that `processesLine` returns: number of processes, and characters of a command. */
const MAX_NAMED = 3;
const MAX_COMMAND = 60;

/** Returns, for example, `measured: 4711 node index.js (port 3000); not counted: …`; undefined without processes. */
export function processesLine({ measured, omitted, notCounted }: MeasuredProcesses): string | undefined {
  if (measured.length + notCounted.length === 0) return undefined;
  const counted = `measured: ${named(measured, omitted) || 'no process of this machine'}`;
  return notCounted.length > 0 ? `${counted}; not counted: ${named(notCounted)}` : counted;
}

function named(rows: Pick<MeasuredProcesses['measured'][number], 'pid' | 'command' | 'ports'>[], omitted = 0): string {
  const shown = rows.slice(0, MAX_NAMED).map(({ pid, command, ports }) => {
    const where = ports && ports.length > 0 ? ` (port ${ports.join('/')})` : '';
    return `${pid} ${command.length > MAX_COMMAND ? `${command.slice(0, MAX_COMMAND)}…` : command}${where}`;
  });
  const rest = rows.length - shown.length + omitted;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}
