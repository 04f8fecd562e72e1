/** What `npx socketio-capacity` runs. */
import { runAsProcess } from './own-process.ts';
import { createProgram, runProgram } from './program.ts';

// `| head` reads no further. What the command has opened is closed as usual, and its exit code is what it would have been.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

await runAsProcess(() => runProgram(createProgram()));
