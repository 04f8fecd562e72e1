/** A Socket.IO server without a line of ours, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

export interface PlainServer {
  url: string;
  child: ChildProcess;
  pid: number;
}

interface Test {
  after(cleanUp: () => void): void;
}

/** Ends with the test. */
export function startPlainServer(t: Test): Promise<PlainServer> {
  return start(t, fixture('plain-server.mjs'));
}

/** Refuses each connection beyond `limit`. Ends with the test. */
export function startFullServer(t: Test, limit: number): Promise<PlainServer> {
  return start(t, fixture('full-server.mjs'), String(limit));
}

async function start(t: Test, script: string, ...args: string[]): Promise<PlainServer> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: `http://127.0.0.1:${line}`, child, pid: child.pid as number };
  }
  throw new Error('the server ended before it listened');
}
