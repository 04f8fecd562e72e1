/**
 * State file of a stack. Any process can use it to find the stack, measure it and take it down. It is written before
 * the first process starts, and updated as soon as PM2's daemon runs. Processes that are missing from the file can be
 * found through the daemon and by their marks.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { STACK_TOOLS } from '../tools.ts';
import { childrenOf, isRefAlive, type ProcessRef, processRef } from './stack-processes.ts';
import { isTrustedStateDir } from './state-dir.ts';

const pid = z.number().int().positive();

const stackStateSchema = z.strictObject({
  version: z.literal(1),
  phase: z.enum(['starting', 'up', 'stopping']),
  profile: z.enum(['full', 'embedded']),
  /** Programs whose absence made the profile `embedded`. Missing if the user chose the profile. */
  missing: z.array(z.enum(STACK_TOOLS)).optional(),
  /** Folder of the code that started the stack. Missing in states of older versions. */
  checkout: z.string().optional(),
  /** URL for clients: of nginx or, for `embedded`, of the worker. */
  target: z.url(),
  token: z.string(),
  connections: z.number().int(),
  workers: z.array(
    z.strictObject({
      id: z.string(),
      port: z.number().int(),
      /** URL of the namespace `/capacity`, `/metrics` and `/healthz`. */
      controlUrl: z.url(),
      /** Process id of the worker; 0 while PM2 has no process for it. */
      pid: z.number().int(),
      /** Number of restarts since the stack started, as counted by PM2. */
      restarts: z.number().int(),
    }),
  ),
  pm2Home: z.string(),
  pm2Pid: pid.optional(),
  /** Process id of nginx's master process. Missing for `embedded`. */
  nginxPid: pid.optional(),
  nginxWorkerPids: z.array(pid),
  nginxStatusUrl: z.url().optional(),
  /** URL of Redis with the password. For a cluster, it is the URL of one node. Missing for `embedded`. */
  redisUrl: z.string().optional(),
  /**
   * Redis processes that the stack has started: a single one, or the nodes of a cluster. Empty if the user's own Redis
   * is used.
   */
  redisNodes: z.array(
    z.strictObject({
      /** Port of the node on 127.0.0.1. */
      port: z.number().int(),
      /** Port of the cluster bus. Missing outside a cluster. */
      busPort: z.number().int().optional(),
      /** Process id of the node; 0 until PM2 has started it. */
      pid: z.number().int(),
    }),
  ),
  logDir: z.string(),
  startedAt: z.string(),
  /** Process whose end takes the stack down. Missing if the stack runs until `stack down`. */
  ownerPid: pid.optional(),
  /** Keeper: the process that takes the stack down. */
  keeperPid: pid.optional(),
  /**
   * Start times of the processes above, by process id. They distinguish a process from a later process with the same
   * id.
   */
  startTimes: z.record(z.string(), z.string()),
});

export type StackState = z.infer<typeof stackStateSchema>;
export type WorkerState = StackState['workers'][number];
export type RedisNodeState = StackState['redisNodes'][number];

export const STACK_STATE_FILE = 'state.json';

/**
 * Creates the state file atomically. If several processes try, only one succeeds.
 * @returns false if the file already exists
 */
export function claimStackState(stateDir: string, state: StackState): boolean {
  const draft = writeDraft(stateDir, state);
  try {
    linkSync(draft, join(stateDir, STACK_STATE_FILE));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Writes the state atomically. A reader gets either the old or the new state. */
export function writeStackState(stateDir: string, state: StackState): void {
  renameSync(writeDraft(stateDir, state), join(stateDir, STACK_STATE_FILE));
}

function writeDraft(stateDir: string, state: StackState): string {
  const draft = join(stateDir, `${STACK_STATE_FILE}.${process.pid}`);
  try {
    writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return draft;
}

/**
 * Reads the state.
 * @returns undefined if there is none; `unreadable` if the file is not a valid state
 * @throws CapacityError `STATE_DIR_UNUSABLE` if another user could have written it
 */
export function readStackState(stateDir: string): StackState | 'unreadable' | undefined {
  if (!isTrustedStateDir(stateDir)) return undefined;
  const text = tryOrUndefined(() => readFileSync(join(stateDir, STACK_STATE_FILE), 'utf8'));
  if (text === undefined) return undefined;
  return tryOrUndefined(() => stackStateSchema.parse(JSON.parse(text))) ?? 'unreadable';
}

/**
 * Records the start time of a process.
 * @returns its process id
 */
export function recordProcess(state: StackState, ref: ProcessRef | undefined): number | undefined {
  if (ref) state.startTimes[ref.pid] = ref.startTime;
  return ref?.pid;
}

/**
 * Records the workers of nginx. Includes workers that still occupy the port after their master was killed.
 * @returns whether the workers have changed
 */
export function recordNginxWorkers(state: StackState): boolean {
  const previousPids = state.nginxWorkerPids;
  const orphans = processRefsOf(state, previousPids).filter(isRefAlive);
  const children = childrenOf(state.nginxPid ?? 0).flatMap((pid) => processRef(pid) ?? []);
  const refs = new Map([...orphans, ...children].map((ref) => [ref.pid, ref]));
  state.nginxWorkerPids = [...refs.values()].map((ref) => recordProcess(state, ref) as number);
  return state.nginxWorkerPids.join() !== previousPids.join();
}

/** Returns a process id with the start time that the state recorded for it; undefined if the state has none. */
export function processRefOf(state: StackState, pid: number | undefined): ProcessRef | undefined {
  const startTime = pid ? state.startTimes[pid] : undefined;
  return pid && startTime ? { pid, startTime } : undefined;
}

export function processRefsOf(state: StackState, pids: (number | undefined)[]): ProcessRef[] {
  return pids.map((pid) => processRefOf(state, pid)).filter((ref) => ref !== undefined);
}

export function pidsOfRedis({ redisNodes }: StackState): number[] {
  return redisNodes.map(({ pid }) => pid);
}

export function isRecordedProcessRunning(state: StackState, pid: number | undefined): boolean {
  const ref = processRefOf(state, pid);
  return ref !== undefined && isRefAlive(ref);
}
