/** Exit codes for unexpected endings: an uncaught error, a wait that can never end, and unwritable output. */

import { unwritable } from '../../protocol/base/unwritable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';

let waiting: CapacityError | undefined;

/**
 * Declares what the command waits for, such as an answer of the user, whose input can end.
 * @param error error to report if the wait can never end
 */
export async function waitingFor<T>(error: CapacityError, wait: () => Promise<T>): Promise<T> {
  waiting = error;
  const result = await wait();
  waiting = undefined;
  return result;
}

/** Runs a command as the only work of this process, and handles unexpected endings. */
export async function runAsProcess(command: () => Promise<void>): Promise<void> {
  let isDone = false;
  // Node exits with code 1 after an uncaught error, but 1 means a missed threshold here.
  process.on('uncaughtException', (error) => {
    console.error(error);
    process.exit(exitCodeOf('failed'));
  });
  for (const name of ['stdout', 'stderr'] as const)
    process[name].on('error', (error: NodeJS.ErrnoException) => {
      // A reader such as `| head` has closed the pipe. The command completes with its usual exit code.
      if (error.code === 'EPIPE') return;
      const message = `cannot write to ${name}: ${error.code}`;
      if (name === 'stdout') console.error(describeError(unwritable('.', error, 'send the output elsewhere', message)));
      process.exit(exitCodeOf('failed'));
    });
  process.once('beforeExit', () => {
    if (isDone) return;
    const message = 'the command waits for something that can no longer happen';
    console.error(describeError(waiting ?? new CapacityError('UNEXPECTED', message)));
    process.exit(exitCodeOf(waiting ? 'refused' : 'failed'));
  });
  await command();
  isDone = true;
}
