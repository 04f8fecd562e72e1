/** What `npx socketio-capacity` runs. */
import { runAsProcess } from './own-process.ts';
import { createProgram, runProgram } from './program.ts';

await runAsProcess(() => runProgram(createProgram()));
