/** Entry point of `npx socketio-capacity`. */
import { runAsProcess } from './own-process.ts';
import { createProgram, runProgram } from './program.ts';

await runAsProcess(() => runProgram(createProgram()));
