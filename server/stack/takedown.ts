/**
 * Takes a stack down. Ends its processes, which it finds by the state and by their marks. Removes only files that a
 * stack creates.
 */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { stopPm2 } from './pm2.ts';
import { markedProcesses } from './state/marks.ts';
import { childrenOf, type ProcessRef, processRef, terminateProcesses } from './state/stack-processes.ts';
import {
  pidsOfRedis,
  processRefsOf,
  readStackState,
  recordNginxWorkers,
  STACK_STATE_FILE,
  type StackState,
  writeStackState,
} from './state/state.ts';
import { STATE_FOLDERS } from './state/state-dir.ts';

const GRACE_MS = 5_000;
/** Maximum number of attempts to end all marked processes. They can start new processes while they are being ended. */
const ROUNDS = 5;

/**
 * Takes down a stack in any state, even if it is only partly up. The keeper is not ended.
 * @throws CapacityError `STACK_STUCK` if a process cannot be killed; the state file then remains
 */
export async function takeDownStack(stateDir: string, state: StackState): Promise<void> {
  const current = tryOrUndefined(() => readStackState(stateDir));
  const isReplaced = typeof current === 'object' && current.token !== state.token;
  // Continues without the file if the disk is full or the folder was removed.
  if (!isReplaced) tryOrUndefined(() => writeStackState(stateDir, { ...state, phase: 'stopping' }));
  recordNginxWorkers(state);
  // Children of PM2. They include restarted workers whose process ids are not in the state.
  const children = childrenOf(state.pm2Pid ?? 0).flatMap((pid) => processRef(pid) ?? []);
  // Ignores an error, because processes that PM2 fails to stop are ended below.
  await stopPm2(state.pm2Home).catch(() => {});
  // Ends the daemon first, because it would restart the workers.
  const stuck = await terminateProcesses(processRefsOf(state, [state.pm2Pid]), GRACE_MS);
  const workers = state.workers.map(({ pid }) => pid);
  const apps = processRefsOf(state, [state.nginxPid, ...state.nginxWorkerPids, ...workers, ...pidsOfRedis(state)]);
  stuck.push(...(await terminateProcesses([...apps, ...children], GRACE_MS)));
  if (stuck.length > 0) throw stuckError(stuck);
  // If the state was replaced, the folder and the marks are those of a newer stack.
  if (!isReplaced) await endMarkedProcesses(stateDir);
}

/**
 * Ends the processes with marks, and removes the files.
 * @throws CapacityError `STACK_STUCK`; the files are not removed
 */
export async function endMarkedProcesses(stateDir: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const marked = markedProcesses(stateDir);
    if (marked.length === 0) return removeFiles(stateDir);
    const stuck = await terminateProcesses(marked, GRACE_MS);
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

/** Removes the files. The state file is last, so that the stack can be found and cleaned up until then. */
function removeFiles(stateDir: string): void {
  for (const folder of STATE_FOLDERS) rmSync(join(stateDir, folder), { recursive: true, force: true });
  rmSync(join(stateDir, STACK_STATE_FILE), { force: true });
  // Fails deliberately if the folder contains other files or the next stack has already started.
  tryOrUndefined(() => rmdirSync(stateDir));
}
