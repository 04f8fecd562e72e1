/** Starts the user's own server for a run, and stops it afterwards. */
import { setTimeout as sleep } from 'node:timers/promises';
import { execa, type ResultPromise } from 'execa';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { maskCommandLine } from '../../protocol/base/secrets/command-line.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { StudyServer } from '../../protocol/documents/study-schema.ts';
import { splitUserInfo } from '../../protocol/wire/basic-auth.ts';
import { logTail } from '../../server/stack/logs.ts';
import { isListening } from '../../server/stack/ports.ts';
import { childrenOf, processRef, terminateProcesses } from '../../server/stack/state/stack-processes.ts';

export interface ServerCommand extends StudyServer {
  cwd: string;
}

interface StartOptions {
  /** Environment variables of the server, in addition to the variables of this process. */
  env: Record<string, string>;
  /** File to which the server's output is written. */
  log: string;
  signal: AbortSignal;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 50;
const GRACE_MS = 10_000;

/**
 * Starts the server, and resolves when the server answers. `close` stops the server and all processes that it has
 * started; idempotent.
 * @throws CapacityError PORT_UNAVAILABLE, START_FAILED, or the signal's reason; the server is stopped in these cases
 */
export async function startOwnServer({ command, ready, cwd }: ServerCommand, { env, log, signal }: StartOptions) {
  if (await answers(ready)) {
    const message = `something already answers at ${ready}, before the server was started`;
    throw new CapacityError('PORT_UNAVAILABLE', message, 'stop it, or choose another address for the server');
  }
  const [program = '', ...args] = command;
  const output = { file: log, append: true } as const;
  // The server has its own process group, so that Ctrl-C does not stop it while the run still ends.
  const child = execa(program, args, { cwd, env, detached: true, stdio: ['ignore', output, output], reject: false });
  let hasEnded = false;
  void child.then(() => {
    hasEnded = true;
  });
  const killGroup = () => signalGroup(child.pid, 'SIGKILL');
  process.once('exit', killGroup);
  const close = onlyOnce(() => stop(child).finally(() => process.off('exit', killGroup)));
  try {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await answers(ready))) {
      signal.throwIfAborted();
      if (hasEnded) throw failed(`${maskCommandLine(command)} has ended${reasonOf(await child)}`, log);
      if (performance.now() > deadline) throw failed(`${ready} does not answer after 60 s`, log);
      await sleep(POLL_INTERVAL_MS);
    }
    return { pid: child.pid as number, hasEnded: () => hasEnded, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Stops the server, its descendants, and all other processes of its process group. */
async function stop(child: ResultPromise): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const refs = [pid, ...descendantsOf(pid)].map(processRef).filter((ref) => ref !== undefined);
  signalGroup(pid, 'SIGTERM');
  await terminateProcesses(refs, GRACE_MS);
  signalGroup(pid, 'SIGKILL');
  await child;
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

function signalGroup(pid: number | undefined, name: NodeJS.Signals): void {
  // The call throws if no process of the group is left.
  if (pid !== undefined) tryOrUndefined(() => process.kill(-pid, name));
}

async function answers(ready: StudyServer['ready']): Promise<boolean> {
  if (typeof ready === 'number') return isListening('127.0.0.1', ready);
  try {
    // A server that answers with status 404 is ready. A server that is not ready answers with a status of 500 or above.
    const { url, headers } = splitUserInfo(ready);
    return (await fetch(url, { headers, signal: AbortSignal.timeout(2000) })).status < 500;
  } catch {
    return false;
  }
}

/** Returns a text about why the server ended, such as `: spawn nood ENOENT` or `: exit code 1`. */
function reasonOf({ originalMessage, exitCode, signal }: Awaited<ResultPromise>): string {
  return `: ${originalMessage || (exitCode === undefined ? signal : `exit code ${exitCode}`)}`;
}

function failed(problem: string, log: string): CapacityError {
  return new CapacityError(
    'START_FAILED',
    `${problem}\nThe end of its log:\n${logTail(log)}`,
    'fix the problem in the log above, or correct `command` and `ready` in the study',
  );
}
