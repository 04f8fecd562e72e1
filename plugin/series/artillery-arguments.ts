/** Helpers for commands that run or read a scenario: Artillery's files, and stop signals. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CapacityError } from '../../protocol/codes/errors.ts';

/**
 * @param specifier `artillery/…`
 * @returns the path of that file in the Artillery installed beside the plugin
 * @throws CapacityError NOT_INSTALLED
 */
export function resolveArtillery(specifier: string): string {
  try {
    return createRequire(import.meta.url).resolve(specifier);
  } catch (cause) {
    throw new CapacityError(
      'NOT_INSTALLED',
      'artillery is not installed beside artillery-plugin-socketio-capacity.',
      'npm install artillery',
      { cause },
    );
  }
}

/** Returns the path of Artillery's command. @throws CapacityError NOT_INSTALLED */
export function artilleryScript(): string {
  return join(dirname(resolveArtillery('artillery/package.json')), 'bin/run');
}

/** Runs `run` with a signal that aborts on Ctrl-C or SIGTERM; these then no longer end the process. */
export async function untilStopped<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await run(abort.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
