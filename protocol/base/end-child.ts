import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Asks a child process to end, and kills it if it still runs after `graceMs`. Does nothing if it has ended already.
 * @returns once the process has ended
 */
export async function endChild(child: ChildProcess, ask: () => void, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  ask();
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}
