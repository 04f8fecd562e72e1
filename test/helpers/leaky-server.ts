/** A server with a known leak, in a process of its own. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TOKEN } from './app.ts';

const script = fileURLToPath(new URL('../fixtures/leaky-server.ts', import.meta.url));

export interface Leak {
  /** Kept of each connection that has left. */
  perConnectionBytes?: number;
  /** Of so many connections; then it is full. */
  mostKept?: number;
  /** Kept whoever comes. */
  perSecondBytes?: number;
}

/** Ends with the test. */
export async function startLeakyServer(
  t: { after(cleanUp: () => void): void },
  { perConnectionBytes = 0, mostKept = Number.MAX_SAFE_INTEGER, perSecondBytes = 0 }: Leak,
): Promise<{ url: string; control: { urls: string[]; token: string } }> {
  const args = [TOKEN, ...[perConnectionBytes, mostKept, perSecondBytes].map(String)];
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const [port, controlPort] = line.split(' ');
    return { url: `http://127.0.0.1:${port}`, control: { urls: [`http://127.0.0.1:${controlPort}`], token: TOKEN } };
  }
  throw new Error('the server ended before it listened');
}
