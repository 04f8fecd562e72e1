/** Takes a stack down: ends its processes, found by the state and by their marks, and removes only files that a stack creates. */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../protocol/base/attempt.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { stopPm2 } from './pm2.ts';
import { markedProcesses } from './state/marks.ts';
import { childrenOf, type ProcessRef, processRef, terminate } from './state/stack-processes.ts';
import {
  pidsOfRedis,
  readState,
  recordNginxWorkers,
  refsOf,
  STATE_FILE,
  type StackState,
  writeState,
} from './state/state.ts';
import { STATE_FOLDERS } from './state/state-dir.ts';

const GRACE_MS = 5_000;
/** Attempts to end all marked processes, which can start new ones while they are being ended. */
const ROUNDS = 5;

/**
 * Works for any state, also if the stack is only partly up. Does not touch the keeper.
 * @throws CapacityError `STACK_STUCK` if a process cannot be killed; the state file then remains
 */
export async function takeDown(stateDir: string, state: StackState): Promise<void> {
  const current = attempt(() => readState(stateDir));
  const isReplaced = typeof current === 'object' && current.token !== state.token;
  // Goes on without it if the disk is full or the folder was removed.
  if (!isReplaced) attempt(() => writeState(stateDir, { ...state, phase: 'stopping' }));
  recordNginxWorkers(state);
  // PM2's children include restarted workers whose pids are not in the state.
  const children = childrenOf(state.pm2Pid ?? 0).flatMap((pid) => processRef(pid) ?? []);
  // Processes that PM2 fails to stop are ended below.
  await stopPm2(state.pm2Home).catch(() => {});
  // The daemon ends first, because it would restart the workers.
  const stuck = await terminate(refsOf(state, [state.pm2Pid]), GRACE_MS);
  const workers = state.workers.map(({ pid }) => pid);
  const apps = refsOf(state, [state.nginxPid, ...state.nginxWorkerPids, ...workers, ...pidsOfRedis(state)]);
  stuck.push(...(await terminate([...apps, ...children], GRACE_MS)));
  if (stuck.length > 0) throw stuckError(stuck);
  // If the state was replaced, the folder and the marks belong to a newer stack.
  if (!isReplaced) await endMarkedProcesses(stateDir);
}

/** Ends the processes found by their marks, and removes the files. @throws CapacityError `STACK_STUCK`, without removing the files */
export async function endMarkedProcesses(stateDir: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const marked = markedProcesses(stateDir);
    if (marked.length === 0) return removeFiles(stateDir);
    const stuck = await terminate(marked, GRACE_MS);
    if (stuck.length > 0) throw stuckError(stuck);
  }
  throw stuckError(markedProcesses(stateDir));
}

function stuckError(refs: ProcessRef[]): CapacityError {
  const pids = refs.map(({ pid }) => pid).join(', ');
  return new CapacityError(
    'STACK_STUCK',
    `These processes do not end, even by SIGKILL: ${pids}.`,
    `kill -9 ${pids.replaceAll(',', '')}`,
  );
}

/** Removes the state file last: until then, the stack can be found and cleaned up again. */
function removeFiles(stateDir: string): void {
  for (const folder of STATE_FOLDERS) rmSync(join(stateDir, folder), { recursive: true, force: true });
  rmSync(join(stateDir, STATE_FILE), { force: true });
  // Fails, as it should, if the user keeps other files there or the next stack has just started.
  attempt(() => rmdirSync(stateDir));
}
