/** Redis and nginx as processes of a stack: started, and waited for. */
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CapacityError } from '../../protocol/errors.ts';
import { logTail } from './logs.ts';
import { childrenOf, isAlive, type ProcessRef, processRef, spawnDetached, terminate } from './state/processes.ts';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 25;

interface ServerProcess {
  name: string;
  program: string;
  args: string[];
  /** Working directory, which also tells that the process is part of this stack. */
  dir: string;
  logFile: string;
  fix: string;
  answers(process: ProcessRef): Promise<boolean>;
  /** Called in the turn in which the process begins to exist. */
  onStart?: ((process: ProcessRef) => void) | undefined;
}

/** Resolves when it answers. @throws CapacityError `START_FAILED`, with the end of its log */
export async function startServer({
  name,
  program,
  args,
  dir,
  logFile,
  fix,
  ...server
}: ServerProcess): Promise<ProcessRef> {
  const onStart = server.onStart ?? (() => {});
  const { ref: started } = await spawnDetached({ command: resolve(program), args, cwd: dir, logFile, onStart });
  let answers = false;
  await waitFor(async () => {
    answers = await server.answers(started);
    return answers || !isAlive(started);
  }, START_TIMEOUT_MS);
  if (answers && isAlive(started)) return started;
  // With its children: nginx's workers survive a master that is killed.
  const children = childrenOf(started.pid).flatMap((pid) => processRef(pid) ?? []);
  await terminate([started, ...children], 2_000);
  throw new CapacityError('START_FAILED', `${name} did not start:\n${logTail(logFile)}`, fix);
}

/** @returns whether the server at the URL answers that all is well */
export async function isWell(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** @returns whether it came true in time */
export async function waitFor(isTrue: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
