/** What `npx socketio-capacity` runs. */
import { CommanderError } from 'commander';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import { createProgram } from './program.ts';

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed the help or the error.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODES.refused;
  } else {
    if (!(error instanceof CapacityError)) throw error;
    console.error(describeError(error));
    process.exitCode = EXIT_CODES.refused;
  }
}
