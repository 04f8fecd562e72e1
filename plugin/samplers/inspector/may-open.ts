/**
 * Checks that SIGUSR1 opens the inspector of a process and has no other effect. The signal ends a process that does not
 * handle it, and a program may use the signal for another purpose.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { isLoopback } from '../../../protocol/base/machine/loopback.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { ServerRuntime } from '../../../protocol/documents/server-runtimes.ts';
import { livingStat } from '../processes/proc.ts';
import { printableCommandOf } from '../processes/process-name.ts';
import { runtimeOfProcess } from './inspected.ts';

/** Facts about a process that determine the effect of a signal. */
export interface InspectableProcess {
  pid: number;
  startedAtUs: number;
  /** Pid of the process in its own pid namespace. */
  ownPid: number;
  /** Port of the process's inspector; 0 if the kernel chooses the port. */
  port: number;
}

const DEFAULT_PORT = 9229;
const SIGUSR1 = 10;
const INSPECTOR_OPTION = /^--(?:inspect(?:-brk|-wait|-port)?|debug-port)=(.+)$/;

const WITHOUT = 'leave `inspect` out: memory is then that of the processes';
/** Runtimes whose memory cannot be read from outside, with the reason. The run sends no signal to their processes. */
const UNSUITABLE: { [runtime in ServerRuntime]?: { what: string; fix: string } } = {
  bun: {
    what: 'runs in Bun, which opens no inspector and which SIGUSR1 would end',
    fix: `${WITHOUT}, with garbage`,
  },
  python: {
    what: 'is a Python program, which opens no inspector and which SIGUSR1 would end',
    fix: `${WITHOUT}, which hold little garbage in Python`,
  },
  go: {
    what: 'is a Go program that serves no pages of `net/http/pprof` at /debug/pprof on a port of this machine',
    fix: 'serve them, or name their URL, such as `inspect: ["http://127.0.0.1:6060/debug/pprof"]`',
  },
  other: {
    what: 'is neither Node, Deno nor a JVM: SIGUSR1 could end it',
    fix: `name the processes of the server; or ${WITHOUT}, with garbage if its language has a garbage collector`,
  },
};

/**
 * Checks that the signal may be sent.
 * @throws CapacityError PROCESS_NOT_FOUND, INSPECTOR_FORBIDDEN, INSPECTOR_UNSUITABLE, INSPECTOR_OFF, INSPECTOR_EXPOSED
 * or INSPECTOR_HIDDEN
 */
export function requireInspectable(pid: number): InspectableProcess {
  const stat = livingStat(pid);
  const status = tryOrUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (!stat || status === undefined) throw new CapacityError('PROCESS_NOT_FOUND', `process ${pid} has ended`);
  const shown = `process ${pid} (${printableCommandOf(pid)})`;
  if (!maySignal(status))
    throw new CapacityError(
      'INSPECTOR_FORBIDDEN',
      `${shown} belongs to another user, who alone may open its inspector`,
    );
  const unsuitable = UNSUITABLE[runtimeOfProcess(pid) ?? 'node'];
  if (unsuitable) throw new CapacityError('INSPECTOR_UNSUITABLE', `${shown} ${unsuitable.what}`, unsuitable.fix);
  if (!catchesSignal(status))
    throw new CapacityError('INSPECTOR_OFF', `${shown} does not catch SIGUSR1, which would end it`);
  if (!sharesNetwork(pid))
    throw new CapacityError(
      'INSPECTOR_HIDDEN',
      `${shown} has its own network, as in a container: its inspector would listen inside`,
    );
  const { host, port } = inspectorAddress(pid);
  if (host !== undefined && !isLoopback(host))
    throw new CapacityError(
      'INSPECTOR_EXPOSED',
      `${shown} would open its inspector on ${host}, where other machines can run code in it`,
    );
  const ownPid = Number(statusField(status, 'NSpid')?.split(/\s+/).at(-1) ?? pid);
  return { pid, startedAtUs: stat.startedAtUs, ownPid, port };
}

/**
 * Removes the primary processes of Node's `cluster` from a list. A primary forwards the signal, and all its workers
 * would open their inspectors at once.
 */
export function withoutPrimaries(pids: number[]): number[] {
  const isWorker = (pid: number) => variablesOf(pid).some((one) => one.startsWith('NODE_UNIQUE_ID='));
  const primaries = new Set(pids.filter(isWorker).map((pid) => livingStat(pid)?.parent));
  return pids.filter((pid) => !primaries.has(pid));
}

/**
 * Returns whether the process still runs and handles the signal. Must be called right before the signal is sent,
 * because the pid may belong to another process by then.
 */
export function isStillSafe({ pid, startedAtUs }: InspectableProcess): boolean {
  const status = tryOrUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return livingStat(pid)?.startedAtUs === startedAtUs && catchesSignal(status);
}

export function statusField(status: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
}

export function catchesSignal(status: string, signal = SIGUSR1): boolean {
  const mask = statusField(status, 'SigCgt') ?? '';
  return /^[0-9a-f]+$/i.test(mask) && (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n;
}

/**
 * Returns whether this process may send a signal to the other process. The kernel compares the sender's real and
 * effective user with the receiver's real and saved user.
 */
export function maySignal(status: string): boolean {
  const [real, , saved] = (statusField(status, 'Uid') ?? '').split(/\s+/).map(Number);
  const own = [process.getuid?.(), process.geteuid?.()];
  return process.geteuid?.() === 0 || own.some((uid) => uid !== undefined && (uid === real || uid === saved));
}

function sharesNetwork(pid: number): boolean {
  const namespace = (of: number | 'self') => tryOrUndefined(() => readlinkSync(`/proc/${of}/ns/net`));
  return namespace(pid) === namespace('self');
}

/**
 * Returns the address at which the process would open its inspector. Options on the command line override options in
 * NODE_OPTIONS.
 */
function inspectorAddress(pid: number): { host: string | undefined; port: number } {
  const variable = variablesOf(pid).findLast((one) => one.startsWith('NODE_OPTIONS=')) ?? '';
  const options = [...variable.slice('NODE_OPTIONS='.length).split(/\s+/), ...wordsOf(pid, 'cmdline')];
  const given = options.flatMap((option) => INSPECTOR_OPTION.exec(option)?.[1] ?? []).at(-1);
  if (given === undefined) return { host: undefined, port: DEFAULT_PORT };
  if (/^\d+$/.test(given)) return { host: undefined, port: Number(given) };
  const { host = given, port = '' } = /^(?<host>.*?)(?::(?<port>\d+))?$/.exec(given)?.groups ?? {};
  return { host, port: port === '' ? DEFAULT_PORT : Number(port) };
}

function variablesOf(pid: number): string[] {
  return wordsOf(pid, 'environ');
}

function wordsOf(pid: number, file: 'environ' | 'cmdline'): string[] {
  return (tryOrUndefined(() => readFileSync(`/proc/${pid}/${file}`, 'utf8')) ?? '').split('\0');
}
