/**
 * The keeper: a process in its own session that starts a stack for its owner and takes it down when the owner ends, in
 * whatever way. It notices by the IPC pipe, which the kernel closes with the owner, even after SIGKILL. Start and stop
 * happen in this one process, so that no stack is taken down while another process still starts it.
 *
 * Owner to keeper: the options, once. Keeper to owner: `KeeperAnswer`, which is an error once what was started has ended, or
 * cannot be ended.
 */
import { once } from 'node:events';
import { attempt } from '../../protocol/base/attempt.ts';
import { tellParent } from '../../protocol/base/tell-parent.ts';
import { isWriteError } from '../../protocol/base/unwritable.ts';
import { ERROR_CODES, type ErrorCode } from '../../protocol/codes/error-codes.ts';
import { CapacityError, describeError, startRefused } from '../../protocol/codes/errors.ts';
import { bringUp, type StackOptions } from './start.ts';
import { readState, type StackState } from './state/state.ts';
import { stateUnwritable } from './state/state-dir.ts';
import { takeDown } from './takedown.ts';

export type KeeperAnswer = { state: StackState } | { error: Failure };

/** A `CapacityError` on its way to another process. */
interface Failure {
  code: ErrorCode;
  message: string;
  fix: string;
  cause?: string;
}

// Inherited by all processes of the stack, so that only its user can access its files and sockets.
process.umask(0o077);
const leaving = new AbortController();
const leave = (): void => leaving.abort();
process.once('disconnect', leave);
// Not `once`: execa's clean-up kills a process that no longer has its own handler.
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
    const state = await bringUp(options, owner, leaving.signal, (state) => {
      claimed = state;
    });
    // Nobody knows of a stack whose starter has ended before the answer.
    if (options.persistent && process.connected && !leaving.signal.aborted) claimed = undefined;
    await answer({ state });
    if (!options.persistent && !leaving.signal.aborted) {
      // A closed pipe does not keep the process running; this timer does, until it is told to leave.
      setInterval(() => {}, 2 ** 30);
      await once(leaving.signal, 'abort');
    }
  } catch (error) {
    if (!leaving.signal.aborted) failure = error;
    process.exitCode = 1;
  }
  const state = claimed && latest(options.stateDir, claimed);
  const stuck = state && (await takeDown(options.stateDir, state).then(() => undefined, toFailure));
  // Only now, so that the answer also has what could not be ended.
  if (failure !== undefined) await answer({ error: withStuck(toFailure(failure), stuck) });
  else if (stuck) await answer({ error: stuck });
}

/** A run records in the state which processes it has replaced. */
function latest(stateDir: string, claimed: StackState): StackState {
  const now = attempt(() => readState(stateDir));
  return typeof now === 'object' && now.token === claimed.token ? now : claimed;
}

function answer(message: KeeperAnswer): Promise<void> {
  return new Promise((resolve) => tellParent(message, resolve));
}

function withStuck(failure: Failure, stuck: Failure | undefined): Failure {
  if (!stuck) return failure;
  return { ...failure, message: `${failure.message}\n${stuck.message}`, fix: `${failure.fix} Then: ${stuck.fix}` };
}

function failureOf(error: unknown, stateDir: string): Failure {
  const refused = startRefused(error) ?? (isWriteError(error) ? stateUnwritable(stateDir, error) : undefined);
  const known = error instanceof CapacityError ? error : refused;
  if (known) {
    const { code, message, fix, cause } = known;
    return { code, message, fix, ...(cause instanceof Error && { cause: cause.message }) };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'UNEXPECTED', message, fix: ERROR_CODES.UNEXPECTED.remedy };
}
