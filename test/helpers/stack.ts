/** For tests that start stacks: folders of their own, and their processes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../server/stack/processes.ts';
import { findStack } from '../../server/stack/stack.ts';
import { refsOf, type StackState } from '../../server/stack/state.ts';

/** A state folder that does not exist yet; whatever stack is left in it after the test is taken down. */
export function tempStateDir(t: { after(cleanUp: () => Promise<void>): void }, name = 's'): string {
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

/** Every process of the stack as it was when the state was written, its owner left out. */
export function processesOf(state: StackState) {
  const { workers, nginxWorkerPids, pm2Pid, nginxPid, redisPid, keeperPid } = state;
  const pids = [...workers.map(({ pid }) => pid), ...nginxWorkerPids, pm2Pid, nginxPid, redisPid, keeperPid];
  return refsOf(state, pids);
}

export function living(state: StackState): number[] {
  return processesOf(state)
    .filter(isAlive)
    .map(({ pid }) => pid);
}
