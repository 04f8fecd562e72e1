/** A server of somebody else's: a process that is no child of the test's. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { eventually } from './poll.ts';

interface Orphan {
  /** Of its processes, its own first. */
  pids: number[];
  /** The next that it prints. */
  line(): Promise<string>;
  /** Ends them all. */
  end(): Promise<void>;
}

/**
 * A shell starts it and leaves. It ends with the test.
 * @param script for `node -e`; its first line are the ids of its processes, its own first
 */
export async function startOrphan(
  t: { after(cleanUp: () => void): void },
  script: string,
  ...options: string[]
): Promise<Orphan> {
  const command = ['-c', '"$0" "$@" &', process.execPath, '-e', script, ...options];
  const shell = spawn('sh', command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(shell.stdout);
  const each = lines[Symbol.asyncIterator]();
  const line = async () => String((await each.next()).value);
  const pids = (await line()).split(' ').map(Number);
  const kill = () => {
    for (const pid of pids.toReversed()) killNow(pid);
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

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}
