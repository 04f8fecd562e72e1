/** Processes that a test starts. They end with the test. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { eventually } from './poll.ts';
import type { Cleaner } from './raw-listen.ts';

export const WORKER = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

export type StartedProcess = ReturnType<typeof startProcess>;

/** A process that stands for a host. `kill` also kills all of its descendants, like a power failure. */
export interface HostProcess extends StartedProcess {
  /** Returns the command lines of the process and its descendants, including orphans. */
  running(): string[];
}

export function startProcess(t: Cleaner, command: string, args: string[], options: SpawnOptions = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const pid = child.pid ?? 0;
  /** Interleaved output of stdout and stderr. */
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  /** Exit code. It is available when all processes that share the output have ended. */
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits for matching output. Rejects if the process ends before. */
  const outputMatches = async (what: RegExp) => {
    for (;;) {
      const found = what.exec(output);
      if (found) return found;
      const over = ended.then(() => Promise.reject(new Error(`it ended without ${what}:\n${output}`)));
      await Promise.race([once(child.stdout as Readable, 'data'), once(child.stderr as Readable, 'data'), over]);
    }
  };
  /** Sends a signal to the process, or to its process group if it is `detached`. */
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => signalNow(options.detached ? -pid : pid, signal);
  const exited = once(child, 'exit');
  t.after(async () => {
    kill();
    await exited;
  });
  return { child, pid, output: () => output, said: outputMatches, ended, kill };
}

/**
 * Starts a process that is no child of the test, like a user's server. A shell starts it and exits.
 * @param args arguments of Node; the first line of output must be process ids, starting with its own
 * @returns functions to read its next line and to end it
 */
export async function startOrphan(t: Cleaner, ...args: string[]) {
  const command = ['-c', '"$0" "$@" &', process.execPath, ...args];
  const shell = spawn('sh', command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const pids = (await line()).split(' ').map(Number);
  const kill = () => {
    for (const pid of pids.toReversed()) signalNow(pid, 'SIGKILL');
  };
  t.after(() => {
    shell.stdout.destroy();
    kill();
  });
  const end = async () => {
    kill();
    await eventually('all have ended', () => !processes().some(({ pid }) => pids.includes(pid)));
  };
  return { pids, line, end };
}

/** @returns all processes of this machine except zombies; the environment is empty for processes of other users */
export function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      const [state = 'Z', , group] = textOf(`/proc/${name}/stat`)
        .replace(/^.*\) /s, '')
        .split(' ');
      const command = textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim();
      const environment = textOf(`/proc/${name}/environ`).split('\0');
      return { pid: Number(name), state, group: Number(group), command, environment };
    })
    .filter(({ state }) => state !== 'Z');
}

/** @returns the text of a file; empty if the process has ended or belongs to another user */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function signalNow(pid: number, signal: NodeJS.Signals): void {
  // Zero, the id of a process that could not be started, would mean the tests' own process group.
  if (pid === 0) return;
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
