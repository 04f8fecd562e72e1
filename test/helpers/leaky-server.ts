/** A server with a known leak, in a process of its own. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TOKEN } from './app.ts';

const script = fileURLToPath(new URL('../fixtures/leaky-server.ts', import.meta.url));

/** Ends with the test. @param leakBytes kept of each connection that has left */
export async function startLeakyServer(
  t: { after(cleanUp: () => void): void },
  leakBytes: number,
): Promise<{ url: string; control: { urls: string[]; token: string } }> {
  const child = spawn(process.execPath, [script, TOKEN, String(leakBytes)], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const [port, controlPort] = line.split(' ');
    return { url: `http://127.0.0.1:${port}`, control: { urls: [`http://127.0.0.1:${controlPort}`], token: TOKEN } };
  }
  throw new Error('the server ended before it listened');
}
