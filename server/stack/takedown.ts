/** Takes a stack down: only the processes that its state names, and only the files that a stack creates. */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { attempt } from '../../protocol/helpers/attempt.ts';
import { pm2Processes, stopPm2 } from './pm2.ts';
import { terminate } from './state/processes.ts';
import { lives, pidsOfRedis, refsOf, STATE_FILE, type StackState, writeState } from './state/state.ts';
import { STATE_FOLDERS } from './state/state-dir.ts';

const GRACE_MS = 5_000;

/**
 * Works for any state, also if the stack is only partly up. Does not touch the keeper.
 * @throws CapacityError `STACK_STUCK` if a process cannot be killed; the state file then remains
 */
export async function takeDown(stateDir: string, state: StackState): Promise<void> {
  // A full disk, or a folder that somebody has removed, is no reason to leave processes behind.
  attempt(() => writeState(stateDir, { ...state, phase: 'stopping' }));
  // nginx first, so that no more connections arrive; Redis last, so that the workers can disconnect from it cleanly.
  const stuck = await terminate(refsOf(state, [state.nginxPid, ...state.nginxWorkerPids]), GRACE_MS);

  if (lives(state, state.pm2Pid) || pm2Processes(state.pm2Home).length > 0) {
    // What PM2 fails to stop is ended below.
    await stopPm2(state.pm2Home).catch(() => {});
  }
  const named = refsOf(state, [state.pm2Pid, ...state.workers.map((worker) => worker.pid)]);
  stuck.push(...(await terminate([...named, ...pm2Processes(state.pm2Home)], GRACE_MS)));

  stuck.push(...(await terminate(refsOf(state, pidsOfRedis(state)), GRACE_MS)));

  if (stuck.length > 0) {
    const pids = stuck.map(({ pid }) => pid).join(', ');
    throw new CapacityError('STACK_STUCK', `These processes do not end: ${pids}.`, `kill -9 ${pids}`);
  }
  removeFiles(stateDir);
}

/** The state file is removed last: until then the stack can be found and cleaned up again. */
export function removeFiles(stateDir: string): void {
  for (const folder of STATE_FOLDERS) rmSync(join(stateDir, folder), { recursive: true, force: true });
  rmSync(join(stateDir, STATE_FILE), { force: true });
  // Unless the user keeps other files there, or the next stack has just started.
  attempt(() => rmdirSync(stateDir));
}
