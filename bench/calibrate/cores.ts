/** A core for each process: what two processes do to each other on one core is no property of either. */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/**
 * Moves the process's main thread to one core, and puts it before everybody else there, by the kernel's real-time class.
 * Its other threads, which compile and collect garbage, stay where they are: they would be in its way. Does nothing
 * where that is not possible: there is a single core, no `taskset` and `chrt`, or no right to.
 */
export function pin(pid: number, core: number): void {
  if (core < cpus().length) attempt('taskset', '-cp', String(core), String(pid));
  attempt('chrt', '-fp', '1', String(pid));
}

function attempt(program: string, ...args: string[]): void {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {
    // then without
  }
}
