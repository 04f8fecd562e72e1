/** What `npx socketio-capacity` runs. */
import { CommanderError } from 'commander';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import { createProgram } from './program.ts';

// `| head` reads no further. What the command has opened is closed as usual, and its exit code is what it would have been.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

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
