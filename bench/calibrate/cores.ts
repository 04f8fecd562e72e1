/** Pins processes to cores, so that they do not affect each other. */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { attempt } from '../../protocol/base/attempt.ts';

/**
 * Pins the process's main thread to a core and gives it real-time priority there. Its other threads (compiler, garbage collector) are not
 * pinned, so that they do not compete with it. Does nothing if that is impossible: with a single core, without `taskset` and `chrt`, or
 * without permission.
 */
export function pin(pid: number, core: number): void {
  const run = (program: string, ...args: string[]) => attempt(() => execFileSync(program, args, { stdio: 'ignore' }));
  if (core < cpus().length) run('taskset', '-cp', String(core), String(pid));
  run('chrt', '-fp', '1', String(pid));
}
