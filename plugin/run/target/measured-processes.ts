/** Describes the processes whose memory and CPU the run measures as the deployment's. */
import type { MeasuredProcesses } from '../../../protocol/result/server-schema.ts';
import {
  connectionHoldingsOf,
  type LayerPids,
  ListeningPorts,
  type PortListeners,
  type ProcessTable,
  printableCommandOf,
  readProcessTable,
  roleOf,
  runtimeOfProcess,
  type UnrelatedProcess,
  withDescendants,
} from '../../samplers/index.ts';

const MAX_MEASURED = 100;
/**
 * Number of open files to read of each process. It is enough to see whether the process holds connections, or forwards
 * them.
 */
const MAX_FILES = 2000;

interface TargetPort {
  /** Port of the target; undefined if the target is on another machine. */
  port: number | undefined;
  listening: PortListeners;
}

/**
 * Describes the measured processes.
 * @param previous result of an earlier call; ports and roles of its processes are not read again, and processes that
 * have exited stay in the result
 */
export async function describeProcesses(
  { workerChildren: _, ...layers }: LayerPids,
  { port, listening }: TargetPort,
  outsiders: UnrelatedProcess[],
  previous: MeasuredProcesses | null,
): Promise<MeasuredProcesses> {
  const table = readProcessTable();
  const all = Object.entries(layers).flatMap(([layer, pids]) => pids.map((pid) => ({ layer, pid })));
  const living = all.filter(({ pid }) => table.has(pid));
  const shown = living.slice(0, MAX_MEASURED);
  const candidates = shown.map(({ pid }) => pid);
  const hops = port === undefined ? undefined : await connectionHoldingsOf(candidates, port, MAX_FILES);
  const ports = new ListeningPorts();
  const holdings = hops?.flat() ?? [];
  const related = holdings.length > 0 ? relatives(new Set(holdings.map(({ pid }) => pid)), table) : undefined;
  // If no worker holds connections to the target's port, a proxy that is not measured forwards the connections.
  const isDirect = shown.some(({ layer, pid }) => layer === 'worker' && related?.has(pid));
  // A proxy may forward connections in a way that is not visible here, for example through Unix sockets.
  const areAllSeen = hops?.at(-1)?.every(({ passesOn }) => !passesOn) ?? false;
  const measured = shown.map(({ layer, pid }) => {
    const before = previous?.measured.find((known) => known.layer === layer && known.pid === pid);
    const {
      command,
      runtime,
      role,
      ports: listed,
    } = before ?? {
      runtime: runtimeOfProcess(pid),
      command: printableCommandOf(pid),
      role: roleOf(pid, listening, table),
      ports: ports.of(pid) ?? null,
    };
    return {
      layer,
      pid,
      command,
      ...(runtime && { runtime }),
      ports: listed,
      role,
      // If the process's open files are unreadable, it is unknown whether it holds connections.
      holds: listed && (isDirect || layer !== 'worker') ? related?.has(pid) || (areAllSeen ? false : null) : null,
    };
  });
  const pids = new Set(measured.map(({ pid }) => pid));
  const ended = previous?.measured.filter(({ pid }) => !pids.has(pid)) ?? [];
  return {
    port: port ?? null,
    unseen: 'unseen' in listening ? listening.unseen : null,
    measured: [...measured, ...ended].slice(0, MAX_MEASURED),
    omitted: Math.max(0, living.length - MAX_MEASURED),
    notCounted: outsiders.map((outsider) => ({ ...outsider, ports: outsider.ports ?? null })),
  };
}

/** Returns the processes together with their descendants and ancestors. */
function relatives(pids: Set<number>, table: ProcessTable): Set<number> {
  const found = withDescendants(pids, table);
  for (const pid of pids) {
    for (let above = table.get(pid)?.parent; above !== undefined && above > 0; above = table.get(above)?.parent)
      found.add(above);
  }
  return found;
}
