import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Stops a child process: first with the function `ask`, and with a kill if the process still runs after `graceMs`. Does
 * nothing if the process has already ended. Resolves when the process has ended.
 */
export async function stopChildProcess(child: ChildProcess, ask: () => void, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  ask();
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}
