/** Redis and nginx as processes of a stack: started, and waited for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CapacityError } from '../../protocol/errors.ts';
import { logTail } from './logs.ts';
import { isAlive, type ProcessRef, spawnDetached, terminate } from './state/processes.ts';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 25;

interface ServerProcess {
  name: string;
  program: string;
  args: string[];
  logFile: string;
  fix: string;
  answers(process: ProcessRef): Promise<boolean>;
  /** Called as soon as the process exists. */
  onStart?: ((process: ProcessRef) => void) | undefined;
}

/** Resolves when it answers. @throws CapacityError `START_FAILED`, with the end of its log */
export async function startServer({
  name,
  program,
  args,
  logFile,
  fix,
  ...server
}: ServerProcess): Promise<ProcessRef> {
  const started = await spawnDetached(program, args, logFile);
  server.onStart?.(started);
  let answers = false;
  await waitFor(async () => {
    answers = await server.answers(started);
    return answers || !isAlive(started);
  }, START_TIMEOUT_MS);
  if (answers && isAlive(started)) return started;
  await terminate([started], 2_000);
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
