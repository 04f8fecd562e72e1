/**
 * Which processes that a query finds are the server's. At the start, the listeners on the target's port tell a second program that
 * only looks like the server. Later, a process belongs to the server if one of the server's processes has started it, if it listens
 * on the target's port, or if it takes the place of one that has ended.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { attempt } from '../../../protocol/base/attempt.ts';
import { holdsOneOf } from '../../../protocol/base/machine/sockets.ts';
import type { ProcessRole } from '../../../protocol/result/processes-schema.ts';
import { type Listening, ListeningPorts } from './listeners.ts';
import { commandLine, programWords } from './process-name.ts';
import { PROXY } from './process-query.ts';
import { type ProcessTable, withDescendants } from './process-table.ts';

export interface Member {
  pid: number;
  startedAtUs: number;
  parent: number;
  /** TCP ports on which it listens; undefined where nobody looked, or that cannot be seen. */
  ports: number[] | undefined;
  program: string;
}

const INIT = 1;

/** @returns how the process relates to the listeners on the target's port; `unknown` where these cannot be seen */
export function roleOf(pid: number, listening: Listening, table: ProcessTable): ProcessRole {
  if ('unseen' in listening) return 'unknown';
  const { pids } = listening;
  if (pids.includes(pid)) return 'listens';
  // Also in a container whose first process is the server.
  const ancestors = pids.filter((one) => one !== INIT || pids.length === 1);
  if (withDescendants(ancestors, table).has(pid)) return 'started by a listener';
  const below = withDescendants([pid], table);
  return pids.some((one) => below.has(one)) ? 'starts a listener' : 'apart';
}

/**
 * At the start, of the processes that a pattern matches. One that is apart from the listeners stays a member if it can stand behind
 * them: it listens elsewhere and is another program, or the listeners are a proxy.
 * @returns roots that only look like the server
 */
export function lookAlikes(roots: number[], listening: Listening, table: ProcessTable): number[] {
  const apart = roots.filter((pid) => roleOf(pid, listening, table) === 'apart');
  const related = roots.filter((pid) => !apart.includes(pid));
  const isProxy = related.some((pid) => PROXY.test(table.get(pid)?.name ?? ''));
  if ('unseen' in listening || related.length === 0 || isProxy) return [];
  const programs = new Set(related.map(programOf));
  const ports = new ListeningPorts();
  return apart.filter((pid) => {
    if (programs.has(programOf(pid))) return true;
    return ![...withDescendants([pid], table)].some((one) => (ports.of(one) ?? [0]).length > 0 || listensLocally(one));
  });
}

/**
 * @param ended members whose place nobody has taken
 * @returns the member whose place the process takes: of the same parent, as under PM2, nodemon and systemd, or on the same port; if no
 *   member is left, also the same program
 */
export function replacedBy(now: Member, ended: Member[], isAnyLeft: boolean): Member | undefined {
  return (
    ended.find(({ parent }) => parent === now.parent) ??
    ended.find(({ ports = [] }) => ports.some((port) => now.ports?.includes(port))) ??
    (isAnyLeft ? undefined : ended.find(({ program }) => program === now.program))
  );
}

/** @returns undefined for a process that has ended, or of another user */
export function executableOf(pid: number): string | undefined {
  return attempt(() => readlinkSync(`/proc/${pid}/exe`));
}

export function programOf(pid: number): string {
  return [executableOf(pid) ?? '', ...(programWords(pid) ?? [commandLine(pid)]).slice(1)].join(' ');
}

/** @returns whether it accepts connections on a socket of the file system */
function listensLocally(pid: number): boolean {
  const text = attempt(() => readFileSync(`/proc/${pid}/net/unix`, 'latin1')) ?? '';
  const rows = text.split('\n').map((row) => row.split(/\s+/));
  const listening = new Set(
    rows.flatMap(([, , , flags, , , inode]) => (flags === '00010000' ? [`socket:[${inode}]`] : [])),
  );
  return holdsOneOf(pid, listening);
}
