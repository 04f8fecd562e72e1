/**
 * Helpers for commands that read or run a scenario: they find Artillery's files, start Artillery, and handle stop
 * signals.
 */
import { addAbortListener } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../protocol/codes/errors.ts';

/**
 * Resolves a file of Artillery.
 * @param specifier path that begins with `artillery/`
 * @returns the path of the file in the Artillery package that is installed next to the plugin
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

const STARTER = join(import.meta.dirname, `start-artillery${extname(import.meta.filename)}`);

interface PrivateStart {
  output: 'inherit' | { file: string; append: true };
  /** Environment variables of the program, in addition to the variables of this process. */
  env: Record<string, string>;
  signal: AbortSignal;
  /** Signal that is sent to the program when `signal` aborts. */
  stopSignal?: NodeJS.Signals;
}

/**
 * Starts a Node program. Other users of the machine cannot read its arguments. `signal` stops the program.
 * @param commandLine path of the program, followed by its arguments
 */
export async function startPrivately(
  commandLine: string[],
  { output, env, signal, stopSignal = 'SIGINT' }: PrivateStart,
): Promise<{ exitCode?: number; cause?: unknown }> {
  const input = JSON.stringify(commandLine);
  const child = execa(process.execPath, [STARTER], { input, stdout: output, stderr: output, env, reject: false });
  // On Ctrl-C, the terminal sends the signal to the program, too. Artillery handles only the first signal.
  const stopped = addAbortListener(signal, () => child.kill(stopSignal));
  try {
    return await child;
  } finally {
    stopped[Symbol.dispose]();
  }
}

/**
 * Calls `run` with a signal that aborts on Ctrl-C or SIGTERM. While `run` is active, Ctrl-C and SIGTERM do not end this
 * process.
 */
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
