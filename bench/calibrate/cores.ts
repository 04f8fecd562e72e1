/** Gives each process its own core, so that they do not affect each other. */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { attempt } from '../../protocol/base/attempt.ts';

/**
 * Pins the process's main thread to one core and gives it priority there, by the kernel's real-time class. Its other
 * threads, which compile and collect garbage, stay where they are, so as not to compete with it. Does nothing if this
 * is not possible: with a single core, without `taskset` and `chrt`, or without the permission.
 */
export function pin(pid: number, core: number): void {
  const run = (program: string, ...args: string[]) => attempt(() => execFileSync(program, args, { stdio: 'ignore' }));
  if (core < cpus().length) run('taskset', '-cp', String(core), String(pid));
  run('chrt', '-fp', '1', String(pid));
}
