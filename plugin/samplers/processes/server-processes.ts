/**
 * The processes of a server that says nothing of itself, found in /proc: by their ids, their command lines or their control
 * group. What they have started belongs to them.
 */
import { readdir } from 'node:fs/promises';
import { limitsOfProcess } from '../../../protocol/base/machine/open-files.ts';
import { type Listening, ListeningPorts } from './listeners.ts';
import { executableOf, lookAlikes, type Member, programOf, replacedBy, roleOf } from './membership.ts';
import { isAlive, isHidden, type ProcessStat } from './proc.ts';
import { shownCommand } from './process-name.ts';
import { notFound, type ProcessQuery, rootsOf, treesOf } from './process-query.ts';
import { MAX_AGE_MS, type ProcessTable, processTable, readProcessTable, withDescendants } from './process-table.ts';

export interface Outsider {
  pid: number;
  command: string;
  /** TCP ports on which it listens; undefined where that cannot be seen. */
  ports: number[] | undefined;
  why: string;
}

interface ServerProcessOptions {
  /** Name of the settings that have the query. Default: `workers`. */
  option?: string;
  /** Port of the target, for processes that hold the connections of the load. */
  port?: number | undefined;
  /** Its listeners. Default: unknown. */
  listening?: Listening;
  /** Age at which the list of processes is read again. */
  maxAgeMs?: number;
}

/** A process of that age was not started for a moment. */
const LONG_LIVED_US = 10e6;
const MAX_OUTSIDERS = 50;
const UNREADABLE = ['EACCES', 'EPERM'];
/** At one process, for its ports. */
const MAX_LOOKS = 3;
const CANNOT_TELL: Listening = { unseen: 'the port of the target is not known' };

export class ServerProcesses {
  readonly #query: ProcessQuery;
  readonly #listening: Listening;
  readonly #port: number | undefined;
  readonly #maxAgeMs: number;
  readonly #members = new Map<number, Member>();
  /** Members that have ended, and whose place nobody has taken. */
  #ended: Member[] = [];
  readonly #outsiders = new Map<string, { outsider: Outsider; isFromStart: boolean; looks: number }>();
  /** Pid → start time: of those that are the server, since they were there from the start. */
  #watched: Map<number, number> | undefined;
  #foundAtMs = performance.now();

  /**
   * @throws CapacityError PROCESS_NOT_FOUND if there is none, or one of the ids is of no process
   */
  constructor(query: ProcessQuery, { option = 'workers', ...options }: ServerProcessOptions = {}) {
    const { port, listening = CANNOT_TELL, maxAgeMs = MAX_AGE_MS } = options;
    this.#query = query;
    this.#port = port;
    this.#listening = listening;
    this.#maxAgeMs = maxAgeMs;
    const table = readProcessTable();
    const roots = rootsOf(query, table);
    const dead = (query.pids ?? []).filter((pid) => !table.has(pid));
    if (dead.length > 0 || roots.length === 0) throw notFound(query, option, dead, table.size);
    const others = query.match === undefined ? [] : lookAlikes(roots, listening, table);
    this.#addTrees(
      roots.filter((pid) => !others.includes(pid)),
      table,
    );
    const ports = new ListeningPorts();
    for (const member of this.#members.values()) member.ports = ports.of(member.pid);
    const why = `neither listens on port ${port} nor belongs to a process that does`;
    for (const stat of others.flatMap((pid) => table.get(pid) ?? []))
      this.#leaveOut(memberOf(stat, ports.of(stat.pid)), why);
  }

  /** @returns ids of the processes that are there now, and those named by id in any case: a sum must not lose one */
  async pids(): Promise<number[]> {
    if (performance.now() - this.#foundAtMs >= this.#maxAgeMs) {
      this.#foundAtMs = performance.now();
      this.#refresh(await processTable(this.#maxAgeMs));
    }
    return [...new Set([...(this.#query.pids ?? []), ...this.#living()])];
  }

  /** @returns processes that the query finds, and that are not the server's: they are in no figure */
  outsiders(): Outsider[] {
    return [...this.#outsiders.values()].map(({ outsider }) => outsider);
  }

  /** @returns another text as soon as one of the server's processes has ended. To be called once when the run begins */
  identity(): string {
    this.#watched ??= this.#withoutHelpers();
    return [...this.#watched]
      .filter(([pid, startedAtUs]) => isAlive({ pid, startedAtUs }))
      .map(([pid]) => pid)
      .join();
  }

  /** @returns files and sockets that they have open; undefined where that is not readable, as for those of other users */
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

  /** @param table can be a few seconds old */
  #refresh(table: ProcessTable): void {
    this.#noteEnded();
    this.#addTrees(this.#living(), table);
    for (const pid of rootsOf(this.#query, table)) {
      const stat = table.get(pid);
      if (!stat || this.#members.has(pid)) continue;
      const known = this.#outsiders.get(keyOf(stat));
      if (known?.isFromStart) continue;
      // A process can listen a little later than it starts. The kernel's list of sockets is long during a run.
      const looks = (known?.looks ?? 0) + 1;
      const ports = looks > MAX_LOOKS ? known?.outsider.ports : new ListeningPorts().of(pid);
      const found = memberOf(stat, ports);
      if (this.#joins(found, table)) {
        this.#outsiders.delete(keyOf(stat));
        this.#members.set(pid, found);
        this.#addTrees([pid], table);
      } else this.#leaveOut(found, 'began during the run, and no measured process started it', looks);
    }
  }

  /** A child of a member is not kept: what takes its place is a child of that member, too. */
  #noteEnded(): void {
    const ended = [...this.#members.values()].filter((member) => !isAlive(member));
    this.#ended.push(...ended.filter(({ parent }) => !this.#members.has(parent)));
    for (const { pid } of ended) this.#members.delete(pid);
  }

  #addTrees(roots: number[], table: ProcessTable): void {
    for (const pid of treesOf(roots, table)) {
      const stat = table.get(pid);
      if (stat && !this.#members.has(pid) && isAlive(stat)) this.#members.set(pid, memberOf(stat, undefined));
    }
  }

  #joins(found: Member, table: ProcessTable): boolean {
    if (this.#port !== undefined && found.ports?.includes(this.#port)) return true;
    if (roleOf(found.pid, this.#listening, table) === 'started by a listener') return true;
    const replaced = replacedBy(found, this.#ended, this.#members.size > 0);
    if (!replaced) return false;
    this.#ended = this.#ended.filter((one) => one !== replaced);
    return true;
  }

  #living(): number[] {
    return [...this.#members.values()].filter(isAlive).map(({ pid }) => pid);
  }

  #leaveOut(found: Member, why: string, looks?: number): void {
    const key = keyOf(found);
    if (this.#outsiders.size >= MAX_OUTSIDERS && !this.#outsiders.has(key)) return;
    const { pid, ports } = found;
    const outsider = { pid, command: shownCommand(pid), ports, why };
    this.#outsiders.set(key, { outsider, isFromStart: looks === undefined, looks: looks ?? 0 });
  }

  /** A process that the server starts for a moment, such as one that resizes an image, is none that restarts. */
  #withoutHelpers(): Map<number, number> {
    const nowUs = Number(process.hrtime.bigint() / 1000n);
    const kept = [...this.#members.values()].filter((member) => {
      if (this.#query.pids?.includes(member.pid)) return true;
      const isOld = nowUs - member.startedAtUs >= LONG_LIVED_US;
      return isAlive(member) && (isOld || executableOf(member.pid) === executableOf(member.parent));
    });
    return new Map(kept.map(({ pid, startedAtUs }) => [pid, startedAtUs]));
  }
}

function memberOf({ pid, parent, startedAtUs }: ProcessStat, ports: number[] | undefined): Member {
  return { pid, parent, startedAtUs, ports, program: programOf(pid) };
}

function keyOf({ pid, startedAtUs }: Pick<Member, 'pid' | 'startedAtUs'>): string {
  return `${pid} ${startedAtUs}`;
}

/** Which is nearest to its limit of open files: a server at that limit refuses connections without a word. */
export type FullestProcess = NonNullable<Awaited<ReturnType<typeof fullestOf>>>;

/** @returns with the soft limit, at which the kernel refuses; undefined where none tells, as those of other users, or none has a limit */
export async function fullestOf(pids: number[]) {
  // A cluster's primary process may be the only one that listens.
  const all = pids.length > 0 ? [...withDescendants(pids, readProcessTable())] : [];
  const found = await Promise.all(
    all.map(async (pid) => {
      const files = await readdir(`/proc/${pid}/fd`).catch(() => undefined);
      const limit = limitsOfProcess(pid)?.soft ?? Number.POSITIVE_INFINITY;
      return files && Number.isFinite(limit)
        ? [{ pid, command: shownCommand(pid), openFiles: files.length, limit }]
        : [];
    }),
  );
  return found.flat().toSorted((a, b) => b.openFiles / b.limit - a.openFiles / a.limit)[0];
}
