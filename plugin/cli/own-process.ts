/** Exit codes of endings that no command foresees: an uncaught error, and a command that nothing can complete any more. */
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';

/** Runs a command as the only work of this process, which sets its own exit code. */
export async function runAsProcess(command: () => Promise<void>): Promise<void> {
  let isDone = false;
  // Node's own exit code of an uncaught error is 1, which is that of a missed threshold.
  process.on('uncaughtException', (error) => {
    console.error(error);
    process.exit(exitCodeOf('failed'));
  });
  process.once('beforeExit', () => {
    if (isDone) return;
    const message = 'the command waits for something that can no longer happen';
    console.error(describeError(new CapacityError('UNEXPECTED', message)));
    process.exit(exitCodeOf('failed'));
  });
  await command();
  isDone = true;
}
