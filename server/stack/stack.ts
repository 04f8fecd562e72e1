/**
 * A stack: the measured deployment of redis-server, Socket.IO workers under PM2, and nginx. The process that starts a
 * stack is its owner. `close()`, or the end of the owner's process, takes the stack down (see keeper.ts).
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname, join } from 'node:path';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError, processStartError } from '../../protocol/codes/errors.ts';
import type { StackFault } from '../../protocol/wire/fault-kinds.ts';
import type { KeeperAnswer } from './keeper.ts';
import { isRetiringNginxWorker } from './nginx.ts';
import { listPm2Apps, readPm2DaemonPid, recordPm2Apps } from './pm2.ts';
import { causeStackFault } from './stack-faults.ts';
import type { StackOptions } from './start.ts';
import { childrenOf, processRef, terminateProcesses, waitUntilEnded } from './state/stack-processes.ts';
import {
  isRecordedProcessRunning,
  pidsOfRedis,
  processRefOf,
  readStackState,
  recordNginxWorkers,
  type StackState,
  writeStackState,
} from './state/state.ts';
import { endMarkedProcesses, takeDownStack } from './takedown.ts';

export type { StackOptions } from './start.ts';
export type { StackState, WorkerState } from './state/state.ts';
export { defaultStateDir } from './state/state-dir.ts';

const KEEPER = join(import.meta.dirname, `keeper${extname(import.meta.filename)}`);

/** Timeout for the end of a keeper. The workers alone have 15 s to close their connections. */
const KEEPER_GRACE_MS = 60_000;

type FoundStack =
  | { status: 'up'; stack: Stack }
  /** Another process is starting the stack or taking it down. */
  | { status: 'busy'; phase: 'starting' | 'stopping'; keeperPid: number }
  /** Stack of a process that was killed. `clean()` ends its remaining processes. */
  | { status: 'stale'; reason: string; clean(): Promise<void> }
  | { status: 'down' };

/**
 * Starts a stack and waits until every part replies. A stale stack in the same folder is cleaned up first.
 * @throws CapacityError `NOT_INSTALLED`, `LIMIT_TOO_LOW`, `PORT_UNAVAILABLE`, `STACK_RUNNING`, `STATE_DIR_…`,
 * `START_FAILED`, or the reason of the signal. The stack's processes have ended by then. The message lists processes
 * that could not be ended; if nothing else failed, the code is `STACK_STUCK`
 */
export async function startStack(options: StackOptions, signal?: AbortSignal): Promise<Stack> {
  await clearStateDir(options.stateDir);
  signal?.throwIfAborted();
  return new Stack(options.stateDir, await startKeeper(options, signal));
}

/** Finds the stack of this state folder. Any process can have started it. */
export async function findStack(stateDir: string): Promise<FoundStack> {
  const state = readStackState(stateDir);
  if (state === undefined) return { status: 'down' };
  if (state === 'unreadable') {
    const reason = 'its state file is damaged or from another version';
    return { status: 'stale', reason, clean: () => endMarkedProcesses(stateDir) };
  }
  const ownerGone = state.ownerPid !== undefined && !isRecordedProcessRunning(state, state.ownerPid);
  if (
    state.keeperPid !== undefined &&
    isRecordedProcessRunning(state, state.keeperPid) &&
    (state.phase !== 'up' || ownerGone)
  ) {
    const phase = state.phase === 'starting' && !ownerGone ? 'starting' : 'stopping';
    return { status: 'busy', phase, keeperPid: state.keeperPid };
  }
  const reason = whyStale(state, ownerGone);
  if (reason) return { status: 'stale', reason, clean: () => new Stack(stateDir, state).close() };
  return { status: 'up', stack: new Stack(stateDir, state) };
}

function whyStale(state: StackState, ownerGone: boolean): string | undefined {
  if (ownerGone) return `the process that started it (${state.ownerPid}) has ended`;
  if (state.phase !== 'up') return `it was abandoned while ${state.phase}`;
  // A dead worker does not make the stack stale, because PM2 restarts the worker.
  const redis = pidsOfRedis(state).map((pid) => ['Redis', pid] as const);
  for (const [name, pid] of [['PM2', state.pm2Pid] as const, ['nginx', state.nginxPid] as const, ...redis]) {
    if (pid !== undefined && !isRecordedProcessRunning(state, pid)) return `its ${name} (${pid}) has ended`;
  }
  return undefined;
}

/**
 * Finds the stack. Waits first if the stack is stopping, and cleans up if it is stale.
 * @param onStale called with the reason before the clean-up
 */
export async function findLivingStack(stateDir: string, onStale = (_reason: string) => {}): Promise<FoundStack> {
  let found = await findStack(stateDir);
  if (found.status === 'busy' && found.phase === 'stopping') {
    const keeper = processRef(found.keeperPid);
    if (keeper) await waitUntilEnded([keeper], KEEPER_GRACE_MS);
    found = await findStack(stateDir);
  }
  if (found.status !== 'stale') return found;
  onStale(found.reason);
  await found.clean();
  return findStack(stateDir);
}

async function clearStateDir(stateDir: string): Promise<void> {
  const found = await findLivingStack(stateDir);
  if (found.status !== 'up' && found.status !== 'busy') return;
  throw new CapacityError(
    'STACK_RUNNING',
    `A stack is already ${found.status === 'up' ? 'running' : found.phase} from ${stateDir}.`,
  );
}

export class Stack {
  /** State at the start, or at the last `refresh()`. */
  readonly state: StackState;
  readonly #stateDir: string;
  #isClosing = false;

  constructor(stateDir: string, state: StackState) {
    this.#stateDir = stateDir;
    this.state = state;
  }

  /**
   * Updates process ids and restarts. Queries PM2 only if a worker has died, because the query takes about half a
   * second.
   */
  async refresh(): Promise<StackState> {
    const { state } = this;
    if (this.#isClosing) return state;
    // nginx replies before all of its workers run, and replaces workers that die.
    let hasChanged = recordNginxWorkers(state);
    if (!state.workers.every(({ pid }) => isRecordedProcessRunning(state, pid))) {
      await recordPm2Apps(state);
      hasChanged = true;
    }
    if (hasChanged) this.#save();
    return state;
  }

  /** Returns how often PM2 has restarted each worker since the stack started. Takes about half a second. */
  async restarts(): Promise<Record<string, number>> {
    const apps = await listPm2Apps(this.state.pm2Home);
    const workers = apps.filter(({ name }) => this.state.workers.some(({ id }) => id === name));
    return Object.fromEntries(workers.map(({ name, restarts }) => [name, restarts]));
  }

  /**
   * Causes a planned fault. Resolves when the fault is complete.
   * @throws CapacityError as `causeStackFault`
   */
  async fault(fault: StackFault): Promise<void> {
    await this.refresh();
    await causeStackFault(fault, this.state, () => this.#save());
  }

  /**
   * Returns the running processes of `PM2` and `nginx`, as texts of process ids with start times. `nginx` includes its
   * workers, except workers that a reload has replaced. A restart or reload changes the text. The text is empty if the
   * part has ended.
   */
  identities(): Record<string, string> {
    const { pm2Home, nginxPid } = this.state;
    const pm2 = { PM2: identityOf([readPm2DaemonPid(pm2Home)]) };
    if (nginxPid === undefined) return pm2;
    return {
      ...pm2,
      nginx: identityOf([nginxPid, ...childrenOf(nginxPid).filter((pid) => !isRetiringNginxWorker(pid))]),
    };
  }

  /**
   * Takes the stack down, and waits until its processes have ended. A second call does nothing.
   * @throws CapacityError `STACK_STUCK`
   */
  readonly close = onlyOnce(async () => {
    this.#isClosing = true;
    const keeper = processRefOf(this.state, this.state.keeperPid);
    if (keeper) await terminateProcesses([keeper], KEEPER_GRACE_MS);
    // Takes the stack down here if there is no keeper or if it was killed. A newer stack in the same folder is never
    // stopped.
    if (this.#isCurrent()) await takeDownStack(this.#stateDir, this.state);
  });

  /**
   * Saves the state. Errors such as a full disk are ignored, because processes that are missing from the file can be
   * found by their marks.
   */
  #save(): void {
    if (this.#isCurrent()) tryOrUndefined(() => writeStackState(this.#stateDir, this.state));
  }

  #isCurrent(): boolean {
    const now = readStackState(this.#stateDir);
    return typeof now === 'object' && now.token === this.state.token;
  }
}

async function startKeeper(options: StackOptions, signal: AbortSignal | undefined): Promise<StackState> {
  const keeper = spawn(process.execPath, [KEEPER], { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const stderr = keeper.stderr as Socket;
  let stderrText = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    stderrText += text;
  });
  let spawnError: Error | undefined;
  const closed = new Promise<void>((resolve) => {
    keeper.once('close', () => resolve());
    keeper.once('error', (error) => {
      spawnError = error;
      resolve();
    });
  });
  const answered = new Promise<KeeperAnswer>((resolve) => {
    keeper.once('message', (message) => resolve(message as KeeperAnswer));
  });
  // Ignores an error of `send`. It means that the keeper has ended, which `closed` reports.
  keeper.send(options, () => {});
  // Makes the keeper abort at its next step.
  const leave = () => keeper.kill('SIGTERM');
  signal?.addEventListener('abort', leave, { once: true });
  const answer = await Promise.race([answered, closed]);
  signal?.removeEventListener('abort', leave);
  if (answer && 'state' in answer && !signal?.aborted) {
    // Keeps the pipes open, so that the keeper notices the end of this process. The pipes do not keep this process
    // running.
    keeper.unref();
    stderr.unref();
    keeper.channel?.unref();
    return answer.state;
  }
  // The keeper takes down its own processes before it ends.
  await closed;
  const error = (answer && 'error' in answer ? answer : undefined)?.error;
  if (error?.code !== 'STACK_STUCK') signal?.throwIfAborted();
  if (!error)
    throw processStartError(spawnError) ?? new CapacityError('UNEXPECTED', `The stack did not start:\n${stderrText}`);
  const { code, message, fix, cause } = error;
  throw new CapacityError(code, message, fix, cause ? { cause: new Error(cause) } : undefined);
}

function identityOf(pids: (number | undefined)[]): string {
  const refs = pids.map(processRef).filter((ref) => ref !== undefined);
  return refs
    .map(({ pid, startTime }) => `${pid}@${startTime}`)
    .sort()
    .join(' ');
}
