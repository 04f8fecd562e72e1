/**
 * Socket.IO servers in their own processes, without `instrument(io)` or with a known leak. They are stopped after the
 * test.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TOKEN } from './app.ts';
import { startOrphan, startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';

const scriptOf = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/**
 * Starts a server without `instrument(io)`. Its process is no child of the test, because a run does not measure its own
 * children.
 * @param limit maximum number of connections; further ones are refused
 * @param workMs milliseconds of work for each message
 */
export async function startPlainServer(t: Cleaner, { limit = Infinity, workMs = 0 } = {}) {
  const { pids, line } = await startOrphan(t, scriptOf('plain-server.mjs'), String(limit), String(workMs));
  return { url: `http://127.0.0.1:${await line()}`, pid: pids[0] as number };
}

/** Starts a server with several processes on one port, without sticky sessions or an adapter. */
export async function startClusterServer(t: Cleaner, processes: number) {
  const { line } = await startOrphan(t, scriptOf('cluster-server.mjs'), String(processes));
  return { url: `http://127.0.0.1:${await line()}` };
}

/**
 * Starts a server that exits at `most` clients or at its limit of open files. Each connection uses ten files. The
 * process is no child of the test.
 * @param blocksAt number of clients at which it blocks its event loop for longer than the ping timeout
 */
export async function startEndingServer(t: Cleaner, { most = Infinity, openFiles = 0, blocksAt = Infinity }) {
  const opensFiles = openFiles > 0 ? 'files' : 'none';
  const { pids, line } = await startOrphan(
    t,
    scriptOf('ending-server.mjs'),
    String(most),
    opensFiles,
    String(blocksAt),
  );
  const [pid = 0, port] = [pids[0], await line()];
  // Sets the limit after the start, because Node raises its own limit when it starts.
  if (openFiles > 0) execFileSync('prlimit', ['--pid', String(pid), `--nofile=${openFiles}`]);
  return { url: `http://127.0.0.1:${port}`, pid };
}

/**
 * Starts a server that keeps a listener for every socket. The process is no child of the test.
 * @param redis URL of a Redis in which it keeps a key instead
 */
export async function startKeepingServer(t: Cleaner, redis = '') {
  const { pids, line } = await startOrphan(t, scriptOf('keeping-server.mjs'), redis);
  return { url: `http://127.0.0.1:${await line()}`, pid: pids[0] as number };
}

export interface Leak {
  /** Bytes kept for each closed connection. */
  perConnectionBytes?: number;
  /** Number of connections after which nothing more is kept. */
  mostKept?: number;
  /** Bytes kept each second. */
  perSecondBytes?: number;
  /** Whether each connection creates a namespace that remains. */
  leavesNamespaces?: boolean;
  /** Milliseconds for which the third broadcast blocks the event loop. */
  blockMs?: number;
}

export async function startLeakyServer(
  t: Cleaner,
  {
    perConnectionBytes = 0,
    mostKept = Number.MAX_SAFE_INTEGER,
    perSecondBytes = 0,
    leavesNamespaces = false,
    blockMs = 0,
  }: Leak,
) {
  const args = [
    scriptOf('leaky-server.ts'),
    TOKEN,
    ...[perConnectionBytes, mostKept, perSecondBytes, Number(leavesNamespaces), blockMs].map(String),
  ];
  const server = startProcess(t, process.execPath, args);
  const [, port, controlPort] = await server.said(/^(\d+) (\d+)$/m);
  const control = { urls: [`http://127.0.0.1:${controlPort}`], token: TOKEN };
  return { url: `http://127.0.0.1:${port}`, control, pid: server.pid };
}
