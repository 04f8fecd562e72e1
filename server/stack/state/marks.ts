/**
 * Marks that identify the processes of a stack without its state file. A process has its mark from its start. The mark
 * of PM2 and the workers is an environment variable, and the mark of nginx and Redis is their working directory.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { type ProcessRef, processRef } from './stack-processes.ts';

const VARIABLE = 'STACK_HOME';
/**
 * Programs whose working directory is a mark. A user's shell can be in the same directory, so other programs do not
 * count.
 */
const SERVERS = new Set(['nginx', 'redis-server']);

export function stackMarkVariables(stateDir: string): Record<string, string> {
  return { [VARIABLE]: stateDir };
}

/** Returns this user's processes with a mark of the stack in this folder. Empty on systems without /proc. */
export function markedProcesses(stateDir: string): ProcessRef[] {
  const pids = tryOrUndefined(() => readdirSync('/proc')) ?? [];
  return pids
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isMarked(`/proc/${name}`, stateDir))
    .flatMap((name) => processRef(Number(name)) ?? []);
}

function isMarked(proc: string, stateDir: string): boolean {
  const environment = tryOrUndefined(() => readFileSync(`${proc}/environ`, 'utf8').split('\0')) ?? [];
  if (environment.includes(`${VARIABLE}=${stateDir}`)) return true;
  const name = tryOrUndefined(() => readFileSync(`${proc}/comm`, 'utf8').trim()) ?? '';
  if (!SERVERS.has(name)) return false;
  // The kernel appends ` (deleted)` after the folder was removed.
  const cwd = tryOrUndefined(() => readlinkSync(`${proc}/cwd`).replace(/ \(deleted\)$/, '')) ?? '';
  return ['nginx', 'redis'].some((folder) => `${cwd}/`.startsWith(`${join(stateDir, folder)}/`));
}
