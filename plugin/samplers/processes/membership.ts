/**
 * Decides which of the processes that match a query belong to the server. At the start, the listening processes of the
 * target's port show which processes only resemble the server. During the run, a process belongs to the server if a
 * process of the server started it, if it listens on the target's port, or if it replaces an exited process of the
 * server.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { ownsAnySocket } from '../../../protocol/base/machine/sockets.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { ProcessRole } from '../../../protocol/result/server-schema.ts';
import { ListeningPorts, type PortListeners } from './listeners.ts';
import { programWords, readCommandLine } from './process-name.ts';
import { PROXY_PATTERN } from './process-query.ts';
import { type ProcessTable, withDescendants } from './process-table.ts';

export interface ServerMember {
  pid: number;
  startedAtUs: number;
  parent: number;
  /** TCP ports on which the process listens; undefined if unknown. */
  ports: number[] | undefined;
  program: string;
}

const INIT = 1;

/**
 * Returns how the process is related to the processes that listen on the target's port; `unknown` if these are not
 * visible.
 */
export function roleOf(pid: number, listening: PortListeners, table: ProcessTable): ProcessRole {
  if ('unseen' in listening) return 'unknown';
  const { pids } = listening;
  if (pids.includes(pid)) return 'listens';
  // Every process is a descendant of init. Only in a container can init be the server itself.
  const ancestors = pids.filter((listener) => listener !== INIT || pids.length === 1);
  if (withDescendants(ancestors, table).has(pid)) return 'started by a listener';
  const descendants = withDescendants([pid], table);
  return pids.some((listener) => descendants.has(listener)) ? 'starts a listener' : 'apart';
}

/**
 * Finds processes that match the pattern but are not the server. A process that is unrelated to the listening processes
 * may still be the server: if it is another program that listens on another port, or if the listening processes are a
 * proxy.
 * @param roots processes that match the pattern
 */
export function unrelatedMatches(roots: number[], listening: PortListeners, table: ProcessTable): number[] {
  const apart = roots.filter((pid) => roleOf(pid, listening, table) === 'apart');
  const related = roots.filter((pid) => !apart.includes(pid));
  const isProxy = related.some((pid) => PROXY_PATTERN.test(table.get(pid)?.name ?? ''));
  if ('unseen' in listening || related.length === 0 || isProxy) return [];
  const programs = new Set(related.map(programOf));
  const ports = new ListeningPorts();
  return apart.filter((pid) => {
    if (programs.has(programOf(pid))) return true;
    return ![...withDescendants([pid], table)].some(
      (member) => (ports.of(member) ?? [0]).length > 0 || listensLocally(member),
    );
  });
}

/**
 * Finds the exited process that a new process replaces: a process with the same parent, as under PM2, nodemon and
 * systemd, or with the same port. If no process of the server is left, the same program is enough.
 * @param ended exited processes of the server without a replacement
 */
export function findReplacedProcess(
  now: ServerMember,
  ended: ServerMember[],
  isAnyLeft: boolean,
): ServerMember | undefined {
  return (
    ended.find(({ parent }) => parent === now.parent) ??
    ended.find(({ ports = [] }) => ports.some((port) => now.ports?.includes(port))) ??
    (isAnyLeft ? undefined : ended.find(({ program }) => program === now.program))
  );
}

/** Returns the path of the process's program; undefined if the process has exited, or belongs to another user. */
export function executableOf(pid: number): string | undefined {
  return tryOrUndefined(() => readlinkSync(`/proc/${pid}/exe`));
}

export function programOf(pid: number): string {
  return [executableOf(pid) ?? '', ...(programWords(pid) ?? [readCommandLine(pid)]).slice(1)].join(' ');
}

/** Returns whether the process accepts connections on a Unix domain socket. */
function listensLocally(pid: number): boolean {
  const text = tryOrUndefined(() => readFileSync(`/proc/${pid}/net/unix`, 'utf8')) ?? '';
  const rows = text.split('\n').map((row) => row.split(/\s+/));
  const listening = new Set(
    rows.flatMap(([, , , flags, , , inode]) => (flags === '00010000' ? [`socket:[${inode}]`] : [])),
  );
  return ownsAnySocket(pid, listening);
}
