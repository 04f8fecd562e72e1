/**
 * The processes of a server that says nothing of itself, found in /proc: by their ids, their command lines or their control
 * group. What they have started belongs to them.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { CapacityError } from '../../../protocol/errors.ts';
import { attempt } from '../../../protocol/helpers/attempt.ts';
import { limitsOfProcess } from '../../../protocol/machine/open-files.ts';
import { isAlive, type ProcessStat } from './proc.ts';
import { MAX_AGE_MS, type ProcessTable, processTable, readProcessTable, withDescendants } from './process-table.ts';

export interface ProcessQuery {
  pids?: number[] | undefined;
  /** Regular expression for command lines. */
  match?: string | undefined;
  cgroup?: string | undefined;
}

type Entry = Pick<ProcessStat, 'pid' | 'parent' | 'startedAtUs'>;

/** A process of that age was not started for a moment. */
const LONG_LIVED_US = 10e6;
const CGROUPS = '/sys/fs/cgroup';

export class ServerProcesses {
  readonly #query: ProcessQuery;
  /** Pid → start time: of those that are the server, since they were there from the start. */
  #watched: Map<number, number>;
  #isFirst = true;
  #found: Entry[];
  #foundAtMs = performance.now();

  /**
   * @param option the name of the settings that have the query
   * @throws CapacityError PROCESS_NOT_FOUND if there is none, or one of the ids is of no process
   */
  constructor(query: ProcessQuery, option = 'workers') {
    this.#query = query;
    const table = readProcessTable();
    this.#found = find(query, table);
    const dead = (query.pids ?? []).filter((pid) => !table.has(pid));
    if (dead.length > 0 || this.#found.length === 0) throw notFound(query, option, dead, table.size);
    this.#watched = new Map(this.#found.map(({ pid, startedAtUs }) => [pid, startedAtUs]));
  }

  /** @returns ids of the processes that are there now, and those named by id in any case: a sum must not lose one */
  async pids(): Promise<number[]> {
    if (performance.now() - this.#foundAtMs > MAX_AGE_MS) {
      this.#foundAtMs = performance.now();
      this.#found = find(this.#query, await processTable(MAX_AGE_MS));
    }
    const living = this.#found.filter(isAlive).map(({ pid }) => pid);
    return [...new Set([...(this.#query.pids ?? []), ...living])];
  }

  /** @returns another text as soon as one of the server's processes has ended. To be called once when the run begins */
  identity(): string {
    if (this.#isFirst) this.#forgetHelpers();
    this.#isFirst = false;
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
          ({ code }: NodeJS.ErrnoException) => (code === 'EACCES' ? undefined : 0),
        ),
      ),
    );
    return counts.includes(undefined) ? undefined : counts.reduce((sum: number, count) => sum + (count ?? 0), 0);
  }

  /** A process that the server starts for a moment, such as one that resizes an image, is none that restarts. */
  #forgetHelpers(): void {
    const nowUs = Number(process.hrtime.bigint() / 1000n);
    for (const entry of this.#found) {
      if (this.#query.pids?.includes(entry.pid)) continue;
      const isOld = nowUs - entry.startedAtUs >= LONG_LIVED_US;
      const executableOf = (pid: number) => attempt(() => readlinkSync(`/proc/${pid}/exe`));
      const isCopy = executableOf(entry.pid) === executableOf(entry.parent);
      if (!isAlive(entry) || !(isOld || isCopy)) this.#watched.delete(entry.pid);
    }
  }
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
      return files && Number.isFinite(limit) ? [{ pid, openFiles: files.length, limit }] : [];
    }),
  );
  return found.flat().toSorted((a, b) => b.openFiles / b.limit - a.openFiles / a.limit)[0];
}

/** Their figures are not those of the server behind them. */
const PROXY = /^(nginx|haproxy|traefik|envoy|caddy|httpd|apache2)/;
const MAX_WORDS = 4;

/**
 * How the option `workers` names the server of which these processes listen: by the beginning of their command line, up to the
 * script, if no other process has the same; what stands behind it can be secret.
 * @returns undefined for none, and for a proxy
 */
export function queryFor(pids: number[]): { match: string } | { pids: number[] } | undefined {
  const table = readProcessTable();
  const [first] = pids;
  if (first === undefined || pids.some((pid) => PROXY.test(table.get(pid)?.name ?? ''))) return undefined;
  const words = commandLine(first).split(' ');
  const script = words.findIndex((word, index) => index > 0 && !word.startsWith('-'));
  if (script < 0 || script >= MAX_WORDS) return { pids };
  const match = `^${words
    .slice(0, script + 1)
    .join(' ')
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}( |$)`;
  const meant = find({ pids }, table).map(({ pid }) => pid);
  return find({ match }, table)
    .map(({ pid }) => pid)
    .join() === meant.join()
    ? { match }
    : { pids };
}

function find(query: ProcessQuery, table: ProcessTable): Entry[] {
  const roots = query.cgroup === undefined ? matching(query, table) : inCgroup(query.cgroup);
  const found = withDescendants(
    roots.filter((pid) => table.has(pid)),
    table,
  );
  // What has started the server can have started the generator, too.
  for (const pid of withDescendants([process.pid], table)) found.delete(pid);
  return [...found].sort((a, b) => a - b).flatMap((pid) => table.get(pid) ?? []);
}

function matching({ pids, match }: ProcessQuery, table: ProcessTable): number[] {
  if (match === undefined) return pids ?? [];
  const pattern = new RegExp(match);
  const own = generator(table);
  return [...table.keys()].filter((pid) => !own.has(pid) && pattern.test(commandLine(pid)));
}

/** This process, what started it and what it has started: their command lines name the scenario, perhaps like the server. */
function generator(table: ProcessTable): Set<number> {
  const own = withDescendants([process.pid], table);
  for (let pid = table.get(process.pid)?.parent; pid !== undefined && pid > 1; pid = table.get(pid)?.parent)
    own.add(pid);
  return own;
}

function commandLine(pid: number): string {
  const line = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1')) ?? '';
  return line.replace(/[\s\0]+/g, ' ').trim();
}

/** Processes of the group and of those below it. */
function inCgroup(cgroup: string): number[] {
  const folder = isAbsolute(cgroup) ? cgroup : join(CGROUPS, cgroup);
  const own = attempt(() => readFileSync(join(folder, 'cgroup.procs'), 'latin1')) ?? '';
  const entries = attempt(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const below = entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => inCgroup(join(folder, name)));
  return [...own.split('\n').filter(Boolean).map(Number), ...below];
}

function notFound({ pids, match, cgroup }: ProcessQuery, option: string, dead: number[], seen: number): CapacityError {
  if (process.platform !== 'linux') {
    const fix = `use ${option}.prometheus, or instrument(io)`;
    return new CapacityError('PROCESS_NOT_FOUND', 'processes are found in /proc, which only Linux has', fix);
  }
  const [what, fix] =
    pids !== undefined
      ? [`there is no process ${dead.join(', ')}`, `correct ${option}.pids: ps -eo pid,args lists processes`]
      : match !== undefined
        ? [
            `no command line matches /${match}/, of ${seen} processes that are not the generator's own`,
            `correct ${option}.match: ps -eo pid,args lists the command lines`,
          ]
        : [
            `${isAbsolute(cgroup ?? '') ? cgroup : join(CGROUPS, cgroup ?? '')} is not a control group with processes`,
            `correct ${option}.cgroup: cat /proc/<pid>/cgroup names the group of a process`,
          ];
  return new CapacityError('PROCESS_NOT_FOUND', what, fix);
}
