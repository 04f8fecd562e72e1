/** Tools for tests that start stacks: state folders, and the processes of a stack. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findStack } from '../../server/stack/stack.ts';
import { isRefAlive } from '../../server/stack/state/stack-processes.ts';
import { pidsOfRedis, processRefsOf, type StackState } from '../../server/stack/state/state.ts';
import type { Cleaner } from './raw-listen.ts';

/** @returns the path of a state folder that does not yet exist; a stack in it is stopped after the test */
export function tempStateDir(t: Cleaner, name = 's'): string {
  const parent = mkdtempSync(join(tmpdir(), 'stack-'));
  const stateDir = join(parent, name);
  t.after(async () => {
    const found = await findStack(stateDir);
    if (found.status === 'up') await found.stack.close();
    if (found.status === 'stale') await found.clean();
    rmSync(parent, { recursive: true, force: true });
  });
  return stateDir;
}

/** @returns the processes in the state of a stack, without its owner */
export function processesOf(state: StackState) {
  const { workers, nginxWorkerPids, pm2Pid, nginxPid, keeperPid } = state;
  const single = [pm2Pid, nginxPid, keeperPid];
  return processRefsOf(state, [...workers.map(({ pid }) => pid), ...nginxWorkerPids, ...pidsOfRedis(state), ...single]);
}

export function living(state: StackState): number[] {
  return processesOf(state)
    .filter(isRefAlive)
    .map(({ pid }) => pid);
}
