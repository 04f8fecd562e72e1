/** Processes that a test starts, and that end with it. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { eventually } from './poll.ts';
import type { Cleaner } from './raw-listen.ts';

export const WORKER = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

export interface StartedProcess {
  child: ChildProcess;
  pid: number;
  /** Standard output and error so far, interleaved. */
  output(): string;
  /** Waits until it has said that, or has ended. */
  said(what: RegExp): Promise<RegExpExecArray>;
  /** Exit code, when all of its processes that share its output have ended. */
  ended: Promise<number | null>;
  /** Where it is `detached`, its process group. */
  kill(signal?: NodeJS.Signals): void;
}

export function startProcess(t: Cleaner, command: string, args: string[], options: SpawnOptions = {}): StartedProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const pid = child.pid ?? 0;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const said = async (what: RegExp) => {
    for (;;) {
      const found = what.exec(output);
      if (found) return found;
      const over = ended.then(() => Promise.reject(new Error(`it ended without ${what}:\n${output}`)));
      await Promise.race([once(child.stdout as Readable, 'data'), once(child.stderr as Readable, 'data'), over]);
    }
  };
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
    await eventually('all have ended', () => !pids.some(isAlive));
  };
  return { pids, line, end };
}

/** An orphan can stay a zombie for as long as nobody asks for it. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function signalNow(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}
