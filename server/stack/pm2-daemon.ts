/**
 * PM2's daemon as a child of this process. PM2's command line would start it as a grandchild, and could end before the daemon has
 * written its pid, so that nothing named it.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { attempt } from '../../protocol/helpers/attempt.ts';
import { logTail } from './logs.ts';
import { pm2Environment, requirePm2 } from './pm2-command.ts';
import { type ProcessRef, spawnDetached } from './state/processes.ts';

const START_TIMEOUT_MS = 60_000;

/**
 * Resolves when it answers PM2's command line.
 * @param onStart called in the turn in which the process begins to exist
 * @throws CapacityError `START_FAILED`, or the signal's reason; the process may still run then
 */
export async function startDaemon(
  pm2Home: string,
  signal: AbortSignal,
  onStart: (daemon: ProcessRef) => void,
): Promise<void> {
  const logFile = join(pm2Home, 'pm2.log');
  const { child } = await spawnDetached({
    command: process.execPath,
    // What PM2's command line starts as its daemon.
    args: [join(dirname(requirePm2()), '../lib/Daemon.js')],
    cwd: process.cwd(),
    logFile,
    env: { ...pm2Environment(pm2Home), SILENT: 'true' },
    ipc: true,
    onStart,
  });
  // The channel keeps this process running for as long as it waits.
  child.ref();
  try {
    if (await isOnline(child, AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]))) return;
    signal.throwIfAborted();
    const message = `PM2's daemon did not start:\n${logTail(logFile)}`;
    throw new CapacityError('START_FAILED', message, 'Correct what the lines above, which are PM2’s own, report.');
  } finally {
    child.unref();
    if (child.connected) child.disconnect();
  }
}

/** @returns false if it has ended before, or after the signal */
async function isOnline(child: ChildProcess, signal: AbortSignal): Promise<boolean> {
  const either = new AbortController();
  const until = { signal: AbortSignal.any([signal, either.signal]) };
  const [online, ended] = [once(child, 'message', until), once(child, 'exit', until)];
  try {
    return await Promise.race([online.then(() => true), ended.then(() => false)]);
  } catch {
    return false;
  } finally {
    either.abort();
    await Promise.allSettled([online, ended]);
  }
}

/** @returns as the daemon itself has written it */
export function daemonPid(pm2Home: string): number | undefined {
  return attempt(() => Number(readFileSync(join(pm2Home, 'pm2.pid'), 'utf8')) || undefined);
}
