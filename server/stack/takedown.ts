/** Takes a stack down: its processes, by its state or by their marks, and only the files that a stack creates. */
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
/** What is ended can have started another one meanwhile. */
const ROUNDS = 5;

/**
 * Works for any state, also if the stack is only partly up. Does not touch the keeper.
 * @throws CapacityError `STACK_STUCK` if a process cannot be killed; the state file then remains
 */
export async function takeDown(stateDir: string, state: StackState): Promise<void> {
  const now = attempt(() => readState(stateDir));
  const isReplaced = typeof now === 'object' && now.token !== state.token;
  // A full disk, or a folder that somebody has removed, is no reason to leave processes behind.
  if (!isReplaced) attempt(() => writeState(stateDir, { ...state, phase: 'stopping' }));
  recordNginxWorkers(state);
  // PM2 starts a worker again, under a pid that the state does not have.
  const children = childrenOf(state.pm2Pid ?? 0).flatMap((pid) => processRef(pid) ?? []);
  // What PM2 fails to stop is ended below.
  await stopPm2(state.pm2Home).catch(() => {});
  // A daemon that lives would start the workers again, so it ends first.
  const stuck = await terminate(refsOf(state, [state.pm2Pid]), GRACE_MS);
  const workers = state.workers.map(({ pid }) => pid);
  const apps = refsOf(state, [state.nginxPid, ...state.nginxWorkerPids, ...workers, ...pidsOfRedis(state)]);
  stuck.push(...(await terminate([...apps, ...children], GRACE_MS)));
  if (stuck.length > 0) throw stuckAt(stuck);
  // The folder, and the marks, are those of a newer stack if this one's folder was removed while it was up.
  if (!isReplaced) await endUnnamed(stateDir);
}

/**
 * Ends the processes that only their marks show, and removes the files.
 * @throws CapacityError `STACK_STUCK`, with the files left
 */
export async function endUnnamed(stateDir: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const marked = markedProcesses(stateDir);
    if (marked.length === 0) return removeFiles(stateDir);
    const stuck = await terminate(marked, GRACE_MS);
    if (stuck.length > 0) throw stuckAt(stuck);
  }
  throw stuckAt(markedProcesses(stateDir));
}

function stuckAt(refs: ProcessRef[]): CapacityError {
  const pids = refs.map(({ pid }) => pid).join(', ');
  return new CapacityError(
    'STACK_STUCK',
    `These processes do not end: ${pids}.`,
    `kill -9 ${pids.replaceAll(',', '')}`,
  );
}

/** The state file is removed last: until then the stack can be found and cleaned up again. */
function removeFiles(stateDir: string): void {
  for (const folder of STATE_FOLDERS) rmSync(join(stateDir, folder), { recursive: true, force: true });
  rmSync(join(stateDir, STATE_FILE), { force: true });
  // Unless the user keeps other files there, or the next stack has just started.
  attempt(() => rmdirSync(stateDir));
}
