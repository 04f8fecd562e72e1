/**
 * Sets exit codes for unexpected endings of the process: uncaught errors, waits that can never end, and output that
 * cannot be written.
 */

import { unwritableError } from '../../protocol/base/unwritable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';

let waiting: CapacityError | undefined;

/**
 * Waits for a promise that may never settle, such as the answer to a question after the end of the input.
 * @param error error to report if the process ends while it waits
 */
export async function waitOrFail<T>(error: CapacityError, wait: () => Promise<T>): Promise<T> {
  waiting = error;
  const result = await wait();
  waiting = undefined;
  return result;
}

/** Runs a command as the main work of this process. Handles unexpected endings. */
export async function runAsProcess(command: () => Promise<void>): Promise<void> {
  let isDone = false;
  // Node exits with code 1 after an uncaught error, but in this tool code 1 means that a threshold was missed.
  process.on('uncaughtException', (error) => {
    console.error(error);
    process.exit(exitCodeOfOutcome('failed'));
  });
  for (const name of ['stdout', 'stderr'] as const)
    process[name].on('error', (error: NodeJS.ErrnoException) => {
      // The reader of the output has closed the pipe, such as `| head`. The command continues with its usual exit code.
      if (error.code === 'EPIPE') return;
      const message = `cannot write to ${name}: ${error.code}`;
      if (name === 'stdout')
        console.error(describeError(unwritableError('.', error, 'send the output elsewhere', message)));
      process.exit(exitCodeOfOutcome('failed'));
    });
  process.once('beforeExit', () => {
    if (isDone) return;
    const message = 'the command waits for something that can no longer happen';
    console.error(describeError(waiting ?? new CapacityError('UNEXPECTED', message)));
    process.exit(exitCodeOfOutcome(waiting ? 'refused' : 'failed'));
  });
  await command();
  isDone = true;
}
