/** Finds the processes that the settings describe: by pids, by a pattern of command lines, or by a control group. */
import { readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { absenceReasonOf } from '../absence.ts';
import { isHidden } from './proc.ts';
import { HIDDEN_PROCESS_REASON } from './process-memory.ts';
import { programWords, readCommandLine } from './process-name.ts';
import { type ProcessTable, readProcessTable, withDescendants } from './process-table.ts';

export interface ProcessQuery {
  pids?: number[] | undefined;
  /** Regular expression that matches the command lines of the processes. */
  match?: string | undefined;
  cgroup?: string | undefined;
}

/** Pattern of proxies' names. The figures of a proxy do not describe the server behind it. */
export const PROXY_PATTERN = /^(nginx|haproxy|traefik|envoy|caddy|httpd|apache2)/;
const CGROUPS = '/sys/fs/cgroup';

/** Returns the running processes that match the query, without their children. */
export function matchingProcesses(query: ProcessQuery, table: ProcessTable): number[] {
  const roots = query.cgroup === undefined ? matching(query, table) : inCgroup(query.cgroup);
  const own = withDescendants([process.pid], table);
  return roots.filter((pid) => table.has(pid) && !own.has(pid));
}

/** Returns the processes and all their descendants as a sorted list, except the generator's own. */
export function processTreesOf(roots: number[], table: ProcessTable): number[] {
  const own = withDescendants([process.pid], table);
  return [...withDescendants(roots, table)].filter((pid) => !own.has(pid)).sort((a, b) => a - b);
}

/**
 * Suggests a value for the option `workers`: the beginning of the command line of the listening processes up to the
 * script, or their pids if that text is not unique. Leaves out further arguments, because they may be secret.
 * @returns undefined without processes, and for a proxy
 */
export function suggestProcessQuery(pids: number[]): { match: string } | { pids: number[] } | undefined {
  const table = readProcessTable();
  const [first] = pids;
  if (first === undefined || pids.some((pid) => PROXY_PATTERN.test(table.get(pid)?.name ?? ''))) return undefined;
  const words = programWords(first);
  if (words === undefined) return { pids };
  const match = `^${words.join(' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}( |$)`;
  const found = processTreesOf(matchingProcesses({ match }, table), table);
  return found.join() === processTreesOf(pids, table).join() ? { match } : { pids };
}

function matching({ pids, match }: ProcessQuery, table: ProcessTable): number[] {
  if (match === undefined) return pids ?? [];
  const pattern = new RegExp(match);
  const own = generator(table);
  return [...table.keys()].filter((pid) => !own.has(pid) && pattern.test(readCommandLine(pid)));
}

/**
 * Returns this process, its ancestors and its descendants. Their command lines contain the scenario's name, which may
 * match the pattern of the server.
 */
function generator(table: ProcessTable): Set<number> {
  const own = withDescendants([process.pid], table);
  for (let pid = table.get(process.pid)?.parent; pid !== undefined && pid > 1; pid = table.get(pid)?.parent)
    own.add(pid);
  return own;
}

function inCgroup(cgroup: string): number[] {
  const folder = folderOf(cgroup);
  const own = tryOrUndefined(() => readFileSync(join(folder, 'cgroup.procs'), 'utf8')) ?? '';
  const entries = tryOrUndefined(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const below = entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => inCgroup(join(folder, name)));
  return [...own.split('\n').filter(Boolean).map(Number), ...below];
}

export function processNotFoundError(query: ProcessQuery, option: string, dead: number[], seen: number): CapacityError {
  const [what, fix] = whyNotFound(query, option, dead, seen);
  return new CapacityError('PROCESS_NOT_FOUND', what, fix);
}

/** Pid of init, the first process of the system. It usually belongs to another user than the run. */
const INIT = 1;

function whyNotFound({ pids, match, cgroup = '' }: ProcessQuery, option: string, dead: number[], seen: number) {
  if (process.platform !== 'linux')
    return [
      'processes are found in /proc, which only Linux has',
      `use ${option}.prometheus, or instrument(io)`,
    ] as const;
  const readable = `run as root or as the user of the server, or use ${option}.prometheus or instrument(io)`;
  const hidden = dead.filter(isHidden);
  if (hidden.length > 0)
    return [`process ${hidden.join(', ')} may not be read: ${HIDDEN_PROCESS_REASON}`, readable] as const;
  if (pids !== undefined)
    return [
      `there is no process ${dead.join(', ')}`,
      `correct ${option}.pids: ps -eo pid,args lists processes`,
    ] as const;
  if (match !== undefined) {
    const what = `no command line matches /${match}/, of ${seen} processes that are not the generator's own`;
    if (isHidden(INIT)) return [`${what}; /proc hides those of other users (mount option hidepid)`, readable] as const;
    return [what, `correct ${option}.match: ps -eo pid,args lists the command lines`] as const;
  }
  const folder = folderOf(cgroup);
  if (absenceReasonOf(failureOf(() => readFileSync(join(folder, 'cgroup.procs')))) === 'refused')
    return [`this user may not read the control group ${folder}`, readable] as const;
  const fix = `correct ${option}.cgroup: cat /proc/<pid>/cgroup names the group of a process`;
  return [`${folder} is not a control group with processes`, fix] as const;
}

function folderOf(cgroup: string): string {
  return isAbsolute(cgroup) ? cgroup : join(CGROUPS, cgroup);
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}
