/**
 * Marks by which the system itself shows that a process is part of a stack, also if no file names it. A process has its mark
 * from its first moment: PM2 and its workers a variable of their environment, nginx and Redis their working directory.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../../protocol/base/attempt.ts';
import { type ProcessRef, processRef } from './stack-processes.ts';

const VARIABLE = 'STACK_HOME';
/** Working directories are a mark of these programs only: a user's shell can be there, too. */
const SERVERS = new Set(['nginx', 'redis-server']);

export function environmentMark(stateDir: string): Record<string, string> {
  return { [VARIABLE]: stateDir };
}

/** @returns this user's processes that have a mark of the stack in this folder; none where there is no /proc */
export function markedProcesses(stateDir: string): ProcessRef[] {
  const pids = attempt(() => readdirSync('/proc')) ?? [];
  return pids
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isMarked(`/proc/${name}`, stateDir))
    .flatMap((name) => processRef(Number(name)) ?? []);
}

function isMarked(proc: string, stateDir: string): boolean {
  const environment = attempt(() => readFileSync(`${proc}/environ`, 'utf8').split('\0')) ?? [];
  if (environment.includes(`${VARIABLE}=${stateDir}`)) return true;
  const name = attempt(() => readFileSync(`${proc}/comm`, 'utf8').trim()) ?? '';
  if (!SERVERS.has(name)) return false;
  // As the kernel writes it once the folder has been removed.
  const cwd = attempt(() => readlinkSync(`${proc}/cwd`).replace(/ \(deleted\)$/, '')) ?? '';
  return ['nginx', 'redis'].some((folder) => `${cwd}/`.startsWith(`${join(stateDir, folder)}/`));
}
