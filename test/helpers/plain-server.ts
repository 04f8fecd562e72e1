/** A Socket.IO server without a line of ours, in a process of its own. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const scriptOf = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
/** The server is nobody's child: a run does not measure its own children as a server. */
const IN_BACKGROUND = '"$0" "$@" &';

interface PlainServer {
  url: string;
  pid: number;
}

interface Test {
  after(cleanUp: () => void): void;
}

/** Ends with the test. @param limit of connections: it refuses all others */
export function startPlainServer(t: Test, limit?: number): Promise<PlainServer> {
  return start(t, [scriptOf('plain-server.mjs'), ...(limit === undefined ? [] : [String(limit)])]);
}

/** Ends with the test. @param workMs for each message */
export function startChat(t: Test, workMs: number): Promise<PlainServer> {
  return start(t, [scriptOf('slow-chat.mjs'), String(workMs)]);
}

async function start(t: Test, args: string[]): Promise<PlainServer> {
  const shell = spawn('sh', ['-c', IN_BACKGROUND, process.execPath, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: shell.stdout })) {
    const [port, pid] = line.split(' ').map(Number) as [number, number];
    t.after(() => end(pid));
    return { url: `http://127.0.0.1:${port}`, pid };
  }
  throw new Error('the server ended before it listened');
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // the test has ended it
  }
}
