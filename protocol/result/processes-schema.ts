/** The section `processes` of the result document: the processes whose memory and CPU are measured. */
import { z } from 'zod';
import { RUNTIMES } from '../documents/server-runtimes.ts';
import { count, object, orNull, rowsOf } from './shared-schemas.ts';

const identity = {
  pid: count.describe('its process id'),
  command: z.string().describe('its command line, without credentials'),
  ports: z.array(count).nullable().describe('TCP ports on which it listens; null if unknown'),
};

export const PROCESS_ROLES = ['listens', 'started by a listener', 'starts a listener', 'apart', 'unknown'] as const;

export const processesSchema = orNull(
  object({
    port: count.nullable().describe('the target’s port; null if the target is on another machine'),
    unseen: z.string().nullable().describe('why the listeners on that port are unknown'),
    measured: rowsOf({
      layer: z.string().describe('the layer that has its memory and CPU'),
      ...identity,
      runtime: z.enum(RUNTIMES).optional().describe('what runs it, by its program; `node` includes Deno'),
      role: z.enum(PROCESS_ROLES).describe('how it relates to the processes that listen on the target’s port'),
      holds: z
        .boolean()
        .nullable()
        .describe('whether it, a parent or a child held connections when all were connected; null if unknown'),
    }).describe('processes in the figures'),
    omitted: count.describe('number of further processes'),
    notCounted: rowsOf({ ...identity, why: z.string().describe('why it is in no figure') }).describe(
      'processes that `match`, `pids` or `cgroup` found, and that are not the server',
    ),
  }),
);

export type MeasuredProcesses = NonNullable<z.infer<typeof processesSchema>>;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/** Limits of `processesLine`. */
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
