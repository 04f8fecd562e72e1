/**
 * Measures memory per connection of a server without product code: by `process.memoryUsage()` in the server and by
 * glibc, with clients of socket.io-client.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Socket } from 'socket.io-client';
import { type FitPoint, fitLine } from '../../report/statistics/statistics.ts';
import { type Neighbour, startNeighbour } from './neighbours.ts';
import { eventually } from './poll.ts';
import { processes } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

/** Addon that counts the bytes of `malloc`. Missing unless `prepare.sh` has built it. */
const TRUTH_MALLOC = process.env.CAPACITY_NEIGHBOURS ? join(process.env.CAPACITY_NEIGHBOURS, 'malloc.node') : '';
const PRELOADED = fileURLToPath(new URL('../fixtures/neighbours/truth.cjs', import.meta.url));
const TOGETHER = 10;
const STEPS = 4;

/**
 * Starts the server with a preloaded file that counts its memory after a collection, and connects users.
 * @returns bytes per connection in all processes of the server: as counted by V8, and by V8's heap plus `malloc`
 */
export async function heapTruth(
  t: Cleaner,
  neighbour: Neighbour,
  env: Record<string, string>,
  connect: (url: string) => Promise<Socket>,
  connections: number,
): Promise<{ inV8: number; withNative: number }> {
  const folder = tempFolder(t);
  const variables = { ...env, NODE_OPTIONS: `--require ${PRELOADED}`, TRUTH_FOLDER: folder, TRUTH_MALLOC };
  const url = await startNeighbour(t, neighbour, variables);
  const open: Socket[] = [];
  t.after(() => closeAll(open));
  const join = async (count: number) => {
    for (let joined = 0; joined < count; joined += TOGETHER) {
      open.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(TOGETHER, count - joined) }, () => connected(connect(url))),
        )),
      );
    }
  };
  for (let warm = 0; warm < connections; warm += TOGETHER) {
    await join(TOGETHER);
    closeAll(open.splice(0));
  }
  const [inV8, withNative]: [FitPoint[], FitPoint[]] = [[], []];
  for (let step = 0; step <= STEPS; step++) {
    if (step > 0) await join(connections / STEPS);
    await collected(folder);
    const [counted, all] = await collected(folder);
    inV8.push({ x: open.length, y: counted });
    withNative.push({ x: open.length, y: all });
  }
  closeAll(open.splice(0));
  // Leaves out the first connections, because they take more memory.
  const slope = (points: FitPoint[]) => fitLine(points.slice(1))?.slope ?? Number.NaN;
  return { inV8: slope(inV8), withNative: slope(withNative) };
}

async function connected(opening: Promise<Socket>): Promise<Socket> {
  const socket = await opening;
  if (!socket.connected) await eventually('a user connects', () => socket.connected);
  return socket;
}

function closeAll(sockets: Socket[]): void {
  for (const socket of sockets) socket.disconnect();
}

/** @returns the sums over all processes of the server, each after a collection */
async function collected(folder: string): Promise<[inV8: number, withNative: number]> {
  const pids = processes().flatMap(({ pid, environment }) =>
    environment.includes(`TRUTH_FOLDER=${folder}`) ? pid : [],
  );
  const sums: [number, number] = [0, 0];
  for (const pid of pids) {
    const file = join(folder, `${pid}`);
    rmSync(file, { force: true });
    process.kill(pid, 'SIGUSR2');
    const text = await eventually('the server counts its memory', () => written(file));
    for (const [index, word] of text.trim().split(' ').entries()) sums[index as 0 | 1] += Number(word);
  }
  return sums;
}

function written(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return text.endsWith('\n') ? text : undefined;
  } catch {
    return undefined;
  }
}
