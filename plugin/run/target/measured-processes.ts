/** Names the processes whose memory and CPU a run charges to the deployment. */
import type { MeasuredProcesses } from '../../../protocol/result/processes-schema.ts';
import {
  holdingsOf,
  type LayerPids,
  type Listening,
  ListeningPorts,
  type Outsider,
  type ProcessTable,
  readProcessTable,
  roleOf,
  shownCommand,
  withDescendants,
} from '../../samplers/index.ts';

const MAX_MEASURED = 100;
/** Of each process: these show whether it holds connections, and whether it passes them on. */
const MAX_FILES = 2000;

export interface TargetPort {
  /** Undefined if the target is on another machine. */
  port: number | undefined;
  listening: Listening;
}

/**
 * @param known what an earlier call returned: whose open files were read then, are not read again; processes that have ended
 *   meanwhile stay in the list
 */
export async function describeProcesses(
  { workerChildren: _, ...layers }: LayerPids,
  { port, listening }: TargetPort,
  outsiders: Outsider[],
  known: MeasuredProcesses | null,
): Promise<MeasuredProcesses> {
  const table = readProcessTable();
  const all = Object.entries(layers).flatMap(([layer, pids]) => pids.map((pid) => ({ layer, pid })));
  const living = all.filter(({ pid }) => table.has(pid));
  const shown = living.slice(0, MAX_MEASURED);
  const candidates = shown.map(({ pid }) => pid);
  const hops = port === undefined ? undefined : await holdingsOf(candidates, port, MAX_FILES);
  const ports = new ListeningPorts();
  const holdings = hops?.flat() ?? [];
  const related = holdings.length > 0 ? relatives(new Set(holdings.map(({ pid }) => pid)), table) : undefined;
  // Behind a proxy that is not measured, a worker holds connections on ports of its own.
  const isDirect = shown.some(({ layer, pid }) => layer === 'worker' && related?.has(pid));
  // A proxy may pass connections on where this cannot be seen, as by Unix sockets.
  const areAllSeen = hops?.at(-1)?.every(({ passesOn }) => !passesOn) ?? false;
  const measured = shown.map(({ layer, pid }) => {
    const before = known?.measured.find((one) => one.layer === layer && one.pid === pid);
    const {
      command,
      role,
      ports: listed,
    } = before ?? {
      command: shownCommand(pid),
      role: roleOf(pid, listening, table),
      ports: ports.of(pid) ?? null,
    };
    return {
      layer,
      pid,
      command,
      ports: listed,
      role,
      // Open files that may not be read hide the connections, too.
      holds: listed && (isDirect || layer !== 'worker') ? related?.has(pid) || (areAllSeen ? false : null) : null,
    };
  });
  const pids = new Set(measured.map(({ pid }) => pid));
  const ended = known?.measured.filter(({ pid }) => !pids.has(pid)) ?? [];
  return {
    port: port ?? null,
    unseen: 'unseen' in listening ? listening.unseen : null,
    measured: [...measured, ...ended].slice(0, MAX_MEASURED),
    omitted: Math.max(0, living.length - MAX_MEASURED),
    notCounted: outsiders.map((one) => ({ ...one, ports: one.ports ?? null })),
  };
}

/** @returns the processes, those that they have started, and those that have started them */
function relatives(pids: Set<number>, table: ProcessTable): Set<number> {
  const found = withDescendants(pids, table);
  for (const pid of pids) {
    for (let one = table.get(pid)?.parent; one !== undefined && one > 0; one = table.get(one)?.parent) found.add(one);
  }
  return found;
}
