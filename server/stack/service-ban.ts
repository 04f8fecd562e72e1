/**
 * Keeps packages from starting their services: they run `policy-rc.d` first, whose exit code 101 forbids it. If that
 * file were left behind, it would forbid all starts, so it names the process that needs it, and is removed with it or
 * after it.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, processRef } from './state/processes.ts';

const OWNER = /^# socketio-capacity setup, process (\d+) started at (\d+)$/m;

/**
 * An existing file, as in containers, remains in effect.
 * @returns a function that lifts the ban; idempotent
 */
export function banServiceStarts(policyFile: string): () => void {
  const self = processRef(process.pid);
  // Created atomically, and never over another file.
  const draft = draftOf(policyFile);
  writeFileSync(
    draft,
    `#!/bin/sh\n# socketio-capacity setup, process ${self?.pid} started at ${self?.startTime}\nexit 101\n`,
    {
      mode: 0o755,
    },
  );
  try {
    linkSync(draft, policyFile);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return () => {};
  } finally {
    rmSync(draft, { force: true });
  }
  const lift = () => {
    process.off('exit', lift);
    rmSync(policyFile, { force: true });
  };
  process.on('exit', lift);
  return lift;
}

/** Lifts the ban of a setup that was killed. @returns whether there was one */
export function liftLeftover(policyFile: string): boolean {
  rmSync(draftOf(policyFile), { force: true });
  const owner = ownerOf(policyFile);
  if (!owner || isAlive(owner)) return false;
  rmSync(policyFile);
  return true;
}

function draftOf(policyFile: string): string {
  return `${policyFile}.socketio-capacity`;
}

/** @returns undefined if the file is not ours */
function ownerOf(policyFile: string) {
  try {
    const [, pid, startTime] = OWNER.exec(readFileSync(policyFile, 'utf8')) ?? [];
    return pid && startTime ? { pid: Number(pid), startTime } : undefined;
  } catch {
    return undefined;
  }
}
