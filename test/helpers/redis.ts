import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

export interface TestRedis {
  url: string;
  port: number;
  /** Stops it at once. Idempotent. */
  close(): Promise<void>;
}

/** Starts a Redis server for a test, without persistence, by default on a free port. */
export async function startRedis(port?: number): Promise<TestRedis> {
  const chosen = port ?? (await freePort());
  const child = spawn(
    'redis-server',
    ['--port', `${chosen}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const close = async () => {
    kill();
    await exited;
    process.off('exit', kill);
  };
  const log: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('Ready to accept connections')) {
      child.stdout.resume();
      return { url: `redis://127.0.0.1:${chosen}`, port: chosen, close };
    }
    log.push(line);
  }
  await close();
  throw new Error(`redis-server did not start on port ${chosen}:\n${log.join('\n')}`);
}

/** @returns a TCP port of 127.0.0.1 that was free a moment ago */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
