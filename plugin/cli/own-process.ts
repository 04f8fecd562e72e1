/**
 * Exit codes of endings that no command foresees: an uncaught error, a command that nothing can complete any more, and output that
 * cannot be written.
 */

import { unwritable } from '../../protocol/base/unwritable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';

let waiting: CapacityError | undefined;

/**
 * Names what the command waits for, such as an answer of the user, whose input can end.
 * @param error reported if it never comes
 */
export async function waitingFor<T>(error: CapacityError, wait: () => Promise<T>): Promise<T> {
  waiting = error;
  const result = await wait();
  waiting = undefined;
  return result;
}

/** Runs a command as the only work of this process, which sets its own exit code. */
export async function runAsProcess(command: () => Promise<void>): Promise<void> {
  let isDone = false;
  // Node's own exit code of an uncaught error is 1, which is that of a missed threshold.
  process.on('uncaughtException', (error) => {
    console.error(error);
    process.exit(exitCodeOf('failed'));
  });
  for (const name of ['stdout', 'stderr'] as const)
    process[name].on('error', (error: NodeJS.ErrnoException) => {
      // A reader such as `| head` has closed the pipe. The command completes as usual, with the exit code it would have had.
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
