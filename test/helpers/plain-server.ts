/** A Socket.IO server without a line of ours, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../fixtures/plain-server.mjs', import.meta.url));

export interface PlainServer {
  url: string;
  child: ChildProcess;
  pid: number;
}

/** Ends with the test. */
export async function startPlainServer(t: { after(cleanUp: () => void): void }): Promise<PlainServer> {
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: `http://127.0.0.1:${line}`, child, pid: child.pid as number };
  }
  throw new Error('the server ended before it listened');
}
