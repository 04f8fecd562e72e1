/**
 * The keeper: a process in its own session that starts a stack for its owner, and takes the stack down when the owner
 * ends. A stack is a local deployment of nginx, workers and Redis. The keeper notices even a SIGKILL of the owner,
 * because the IPC pipe closes. A single process starts and stops the stack, so a stack is never taken down while it
 * starts.
 *
 * Messages: the owner sends the options once. The keeper replies with `KeeperAnswer`. If the reply is an error, the
 * started processes have ended or could not be ended.
 */
import { once } from 'node:events';
import { sendToParent } from '../../protocol/base/send-to-parent.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { isWriteError } from '../../protocol/base/unwritable.ts';
import { ERROR_CODES, type ErrorCode } from '../../protocol/codes/error-codes.ts';
import { CapacityError, describeError, processStartError } from '../../protocol/codes/errors.ts';
import { bringUpStack, type StackOptions } from './start.ts';
import { readStackState, type StackState } from './state/state.ts';
import { stateUnwritableError } from './state/state-dir.ts';
import { takeDownStack } from './takedown.ts';

export type KeeperAnswer = { state: StackState } | { error: Failure };

/** Serialized `CapacityError`. */
interface Failure {
  code: ErrorCode;
  message: string;
  fix: string;
  cause?: string;
}

// All processes of the stack inherit this mask, so that only their user can access their files and sockets.
process.umask(0o077);
const leaveSignal = new AbortController();
const leave = (): void => leaveSignal.abort();
process.once('disconnect', leave);
// Uses `on` instead of `once`, because execa's clean-up kills a process that has no other handler.
process.on('SIGTERM', leave);
process.on('SIGINT', leave);
process.once('message', (options) => {
  keep(options as StackOptions).then(
    () => process.exit(),
    (error) => {
      console.error(describeError(error));
      process.exit(1);
    },
  );
});

async function keep(options: StackOptions): Promise<void> {
  const toFailure = (error: unknown) => failureOf(error, options.stateDir);
  let claimed: StackState | undefined;
  let failure: unknown;
  try {
    const owner = { ownerPid: options.persistent ? undefined : process.ppid, keeperPid: process.pid };
    const state = await bringUpStack(options, owner, leaveSignal.signal, (state) => {
      claimed = state;
    });
    // Keeps a persistent stack only if its starter still runs. Otherwise no process would have the stack's address.
    if (options.persistent && process.connected && !leaveSignal.signal.aborted) claimed = undefined;
    await answer({ state });
    if (!options.persistent && !leaveSignal.signal.aborted) {
      // Keeps this process running until it is asked to end, even if the pipe is closed.
      setInterval(() => {}, 2 ** 30);
      await once(leaveSignal.signal, 'abort');
    }
  } catch (error) {
    if (!leaveSignal.signal.aborted) failure = error;
    process.exitCode = 1;
  }
  const state = claimed && latest(options.stateDir, claimed);
  const stuck = state && (await takeDownStack(options.stateDir, state).then(() => undefined, toFailure));
  // Sends the error after the takedown, so that the reply includes processes that did not end.
  if (failure !== undefined) await answer({ error: withStuck(toFailure(failure), stuck) });
  else if (stuck) await answer({ error: stuck });
}

/** Returns the latest state. A run can have written there which processes it has replaced. */
function latest(stateDir: string, claimed: StackState): StackState {
  const current = tryOrUndefined(() => readStackState(stateDir));
  return typeof current === 'object' && current.token === claimed.token ? current : claimed;
}

function answer(message: KeeperAnswer): Promise<void> {
  return new Promise((resolve) => sendToParent(message, resolve));
}

function withStuck(failure: Failure, stuck: Failure | undefined): Failure {
  if (!stuck) return failure;
  return { ...failure, message: `${failure.message}\n${stuck.message}`, fix: `${failure.fix} Then: ${stuck.fix}` };
}

function failureOf(error: unknown, stateDir: string): Failure {
  const refused = processStartError(error) ?? (isWriteError(error) ? stateUnwritableError(stateDir, error) : undefined);
  const known = error instanceof CapacityError ? error : refused;
  if (known) {
    const { code, message, fix, cause } = known;
    return { code, message, fix, ...(cause instanceof Error && { cause: cause.message }) };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'UNEXPECTED', message, fix: ERROR_CODES.UNEXPECTED.remedy };
}
