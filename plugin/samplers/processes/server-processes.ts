/**
 * Finds the processes of a server without control ports in /proc, by pids, command lines or control group. Their
 * descendants count for the server, too.
 */
import { readdir } from 'node:fs/promises';
import { limitsOfProcess } from '../../../protocol/base/machine/open-files.ts';
import { ListeningPorts, type PortListeners } from './listeners.ts';
import {
  executableOf,
  findReplacedProcess,
  programOf,
  roleOf,
  type ServerMember,
  unrelatedMatches,
} from './membership.ts';
import { isHidden, isProcessAlive, type ProcessStat } from './proc.ts';
import { printableCommandOf } from './process-name.ts';
import { matchingProcesses, type ProcessQuery, processNotFoundError, processTreesOf } from './process-query.ts';
import {
  cachedProcessTable,
  PROCESS_TABLE_MAX_AGE_MS,
  type ProcessTable,
  readProcessTable,
  withDescendants,
} from './process-table.ts';

/** A process that matches the query but does not belong to the server. */
export interface UnrelatedProcess {
  pid: number;
  command: string;
  /** TCP ports on which the process listens; undefined if unknown. */
  ports: number[] | undefined;
  why: string;
}

interface ServerProcessOptions {
  /** Name of the option that selects the processes. Default: `workers`. */
  option?: string;
  /** Port of the target. Only set if these processes hold the connections of the load. */
  port?: number | undefined;
  /** Processes that listen on the target's port. Default: unknown. */
  listening?: PortListeners;
  maxAgeMs?: number;
}

/** Age in microseconds from which a process does not count as short-lived. */
const LONG_LIVED_US = 10e6;
const MAX_OUTSIDERS = 50;
const UNREADABLE = ['EACCES', 'EPERM'];
const MAX_PORT_READS = 3;
const PORT_UNKNOWN: PortListeners = { unseen: 'the port of the target is unknown' };

export class ServerProcesses {
  readonly #query: ProcessQuery;
  readonly #listening: PortListeners;
  readonly #port: number | undefined;
  readonly #maxAgeMs: number;
  readonly #members = new Map<number, ServerMember>();
  /** Exited processes of the server that no new process has replaced. */
  #ended: ServerMember[] = [];
  readonly #outsiders = new Map<string, { outsider: UnrelatedProcess; isFromStart: boolean; portReads: number }>();
  /** Start time of each server process, by pid. The start times identify the server. */
  #watched: Map<number, number> | undefined;
  #foundAtMs = performance.now();

  /**
   * Finds the processes.
   * @throws CapacityError PROCESS_NOT_FOUND if no process matches the query, or if one of its pids does not exist
   */
  constructor(query: ProcessQuery, { option = 'workers', ...options }: ServerProcessOptions = {}) {
    const { port, listening = PORT_UNKNOWN, maxAgeMs = PROCESS_TABLE_MAX_AGE_MS } = options;
    this.#query = query;
    this.#port = port;
    this.#listening = listening;
    this.#maxAgeMs = maxAgeMs;
    const table = readProcessTable();
    const roots = matchingProcesses(query, table);
    const dead = (query.pids ?? []).filter((pid) => !table.has(pid));
    if (dead.length > 0 || roots.length === 0) throw processNotFoundError(query, option, dead, table.size);
    const unrelated = query.match === undefined ? [] : unrelatedMatches(roots, listening, table);
    this.#addTrees(
      roots.filter((pid) => !unrelated.includes(pid)),
      table,
    );
    const ports = new ListeningPorts();
    for (const member of this.#members.values()) member.ports = ports.of(member.pid);
    const why = `neither listens on port ${port} nor belongs to a process that does`;
    for (const stat of unrelated.flatMap((pid) => table.get(pid) ?? []))
      this.#leaveOut(memberOf(stat, ports.of(stat.pid)), why);
  }

  /**
   * Returns the pids of the running processes. Pids that the settings list are always included, so that a sum over the
   * processes fails after an exit.
   */
  async pids(): Promise<number[]> {
    if (performance.now() - this.#foundAtMs >= this.#maxAgeMs) {
      this.#foundAtMs = performance.now();
      this.#refresh(await cachedProcessTable(this.#maxAgeMs));
    }
    return [...new Set([...(this.#query.pids ?? []), ...this.#living()])];
  }

  /** Returns processes that match the query but do not belong to the server. No figure includes them. */
  outsiders(): UnrelatedProcess[] {
    return [...this.#outsiders.values()].map(({ outsider }) => outsider);
  }

  /**
   * Returns a text that changes when one of the server's processes exits. The first call must be at the start of the
   * run.
   */
  identity(): string {
    this.#watched ??= this.#withoutHelpers();
    return [...this.#watched]
      .filter(([pid, startedAtUs]) => isProcessAlive({ pid, startedAtUs }))
      .map(([pid]) => pid)
      .join();
  }

  /**
   * Returns the number of open files and sockets of all processes; undefined if the run may not read them, for example
   * because they belong to other users.
   */
  async openFiles(): Promise<number | undefined> {
    const counts = await Promise.all(
      (await this.pids()).map((pid) =>
        readdir(`/proc/${pid}/fd`).then(
          ({ length }) => length,
          ({ code = '' }: NodeJS.ErrnoException) => (UNREADABLE.includes(code) || isHidden(pid) ? undefined : 0),
        ),
      ),
    );
    return counts.includes(undefined) ? undefined : counts.reduce((sum: number, count) => sum + (count ?? 0), 0);
  }

  #refresh(table: ProcessTable): void {
    this.#noteEnded();
    this.#addTrees(this.#living(), table);
    for (const pid of matchingProcesses(this.#query, table)) {
      const stat = table.get(pid);
      if (!stat || this.#members.has(pid)) continue;
      const known = this.#outsiders.get(keyOf(stat));
      if (known?.isFromStart) continue;
      // The process may begin to listen later, so its ports are read again. The number of attempts is limited, because
      // the list of sockets is long during a run.
      const portReads = (known?.portReads ?? 0) + 1;
      const ports = portReads > MAX_PORT_READS ? known?.outsider.ports : new ListeningPorts().of(pid);
      const found = memberOf(stat, ports);
      if (this.#joins(found, table)) {
        this.#outsiders.delete(keyOf(stat));
        this.#members.set(pid, found);
        this.#addTrees([pid], table);
      } else this.#leaveOut(found, 'began during the run, and no measured process started it', portReads);
    }
  }

  /**
   * Children of the server's processes are not recorded: a new child has the same parent, so it belongs to the server
   * anyway.
   */
  #noteEnded(): void {
    const ended = [...this.#members.values()].filter((member) => !isProcessAlive(member));
    this.#ended.push(...ended.filter(({ parent }) => !this.#members.has(parent)));
    for (const { pid } of ended) this.#members.delete(pid);
  }

  #addTrees(roots: number[], table: ProcessTable): void {
    for (const pid of processTreesOf(roots, table)) {
      const stat = table.get(pid);
      if (stat && !this.#members.has(pid) && isProcessAlive(stat)) this.#members.set(pid, memberOf(stat, undefined));
    }
  }

  #joins(found: ServerMember, table: ProcessTable): boolean {
    if (this.#port !== undefined && found.ports?.includes(this.#port)) return true;
    if (roleOf(found.pid, this.#listening, table) === 'started by a listener') return true;
    const replaced = findReplacedProcess(found, this.#ended, this.#members.size > 0);
    if (!replaced) return false;
    this.#ended = this.#ended.filter((member) => member !== replaced);
    return true;
  }

  #living(): number[] {
    return [...this.#members.values()].filter(isProcessAlive).map(({ pid }) => pid);
  }

  #leaveOut(found: ServerMember, why: string, portReads?: number): void {
    const key = keyOf(found);
    if (this.#outsiders.size >= MAX_OUTSIDERS && !this.#outsiders.has(key)) return;
    const { pid, ports } = found;
    const outsider = { pid, command: printableCommandOf(pid), ports, why };
    this.#outsiders.set(key, { outsider, isFromStart: portReads === undefined, portReads: portReads ?? 0 });
  }

  /**
   * Leaves out short-lived processes, for example for resizing an image, because their exit is not a restart of the
   * server.
   */
  #withoutHelpers(): Map<number, number> {
    const nowUs = Number(process.hrtime.bigint() / 1000n);
    const kept = [...this.#members.values()].filter((member) => {
      if (this.#query.pids?.includes(member.pid)) return true;
      const isOld = nowUs - member.startedAtUs >= LONG_LIVED_US;
      return isProcessAlive(member) && (isOld || executableOf(member.pid) === executableOf(member.parent));
    });
    return new Map(kept.map(({ pid, startedAtUs }) => [pid, startedAtUs]));
  }
}

function memberOf({ pid, parent, startedAtUs }: ProcessStat, ports: number[] | undefined): ServerMember {
  return { pid, parent, startedAtUs, ports, program: programOf(pid) };
}

function keyOf({ pid, startedAtUs }: Pick<ServerMember, 'pid' | 'startedAtUs'>): string {
  return `${pid} ${startedAtUs}`;
}

/**
 * The process that is closest to its limit of open files. At the limit, a server refuses connections without an error
 * message.
 */
export type FullestProcess = NonNullable<Awaited<ReturnType<typeof findFullestProcess>>>;

/**
 * Returns the process that uses the highest share of its soft limit of open files; undefined if no process can be read,
 * or none has a limit.
 */
export async function findFullestProcess(pids: number[]) {
  // Includes child processes, because only the primary process of a cluster may be in `pids`.
  const all = pids.length > 0 ? [...withDescendants(pids, readProcessTable())] : [];
  const found = await Promise.all(
    all.map(async (pid) => {
      const files = await readdir(`/proc/${pid}/fd`).catch(() => undefined);
      const limit = limitsOfProcess(pid)?.soft ?? Number.POSITIVE_INFINITY;
      return files && Number.isFinite(limit)
        ? [{ pid, command: printableCommandOf(pid), openFiles: files.length, limit }]
        : [];
    }),
  );
  return found.flat().toSorted((a, b) => b.openFiles / b.limit - a.openFiles / a.limit)[0];
}
