/** Processes that a test starts, and that end with it. */
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

/** Of a host of its own: `kill` ends all that it has started, too, at once, as if the host had lost its power. */
export interface HostProcess extends StartedProcess {
  /** Command lines of the process and all that it has started, also of those that have been left by their parents. */
  running(): string[];
}

export function startProcess(t: Cleaner, command: string, args: string[], options: SpawnOptions = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const pid = child.pid ?? 0;
  /** Of both streams, interleaved. */
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  /** Exit code, when all of its processes that share its output have ended. */
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits until it has said that, or has ended. */
  const said = async (what: RegExp) => {
    for (;;) {
      const found = what.exec(output);
      if (found) return found;
      const over = ended.then(() => Promise.reject(new Error(`it ended without ${what}:\n${output}`)));
      await Promise.race([once(child.stdout as Readable, 'data'), once(child.stderr as Readable, 'data'), over]);
    }
  };
  /** Where it is `detached`, its process group. */
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => signalNow(options.detached ? -pid : pid, signal);
  const exited = once(child, 'exit');
  t.after(async () => {
    kill();
    await exited;
  });
  return { child, pid, output: () => output, said, ended, kill };
}

/**
 * A process that is no child of the test's, as somebody else's server: a shell starts it and leaves.
 * @param args of Node; the first line that it prints are the ids of its processes, its own first
 * @returns how to read its next line, and to end it
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

/** All of this machine, but for zombies, which can stay for as long as nobody asks for them. The environment of somebody else's is empty. */
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

/** @returns '' if the process has ended, or is somebody else's */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function signalNow(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}
