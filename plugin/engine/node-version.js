// Plain JavaScript, because it must run on a Node that is too old for the rest. Engine and plugin have the same file.
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const REFUSED = 2;
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  writeSync(
    2,
    `NODE_TOO_OLD: this is Node ${process.versions.node}, and socketio-capacity needs 22.18 or newer, as Artillery does.\n  fix: install Node 24, from https://nodejs.org or with a version manager: nvm install 24\n`,
  );
  if (isMainThread) process.exit(REFUSED);
  // A worker thread cannot end the run; the signal makes Artillery's main thread shut down.
  globalThis.artillery.suggestedExitCode = REFUSED;
  process.kill(process.pid, 'SIGTERM');
  await new Promise(() => {});
}
