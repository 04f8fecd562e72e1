import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Asks a child process to end, and kills it if it is still there after `graceMs`. Does not ask one that has ended.
 * @returns when it is gone
 */
export async function endChild(child: ChildProcess, ask: () => void, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  ask();
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}
