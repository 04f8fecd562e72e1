/** V8's memory per connection of a server by its own `process.memoryUsage()`, with clients of socket.io-client: without product code. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Socket } from 'socket.io-client';
import { fitLine, type Point } from '../../report/statistics/statistics.ts';
import { type Neighbour, startNeighbour } from './neighbours.ts';
import { eventually } from './poll.ts';
import { processes } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

const PRELOADED = fileURLToPath(new URL('../fixtures/neighbours/truth.cjs', import.meta.url));
const TOGETHER = 10;
const STEPS = 4;

/**
 * Starts the server with a file that counts its memory after a collection, and connects users.
 * @returns bytes per connection, all processes of the server together
 */
export async function heapTruth(
  t: Cleaner,
  neighbour: Neighbour,
  env: Record<string, string>,
  connect: (url: string) => Promise<Socket>,
  connections: number,
): Promise<number> {
  const folder = tempFolder(t);
  const variables = { ...env, NODE_OPTIONS: `--require ${PRELOADED}`, TRUTH_FOLDER: folder };
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
  const points: Point[] = [];
  for (let step = 0; step <= STEPS; step++) {
    if (step > 0) await join(connections / STEPS);
    await collected(folder);
    points.push({ x: open.length, y: await collected(folder) });
  }
  closeAll(open.splice(0));
  // The first connections of a server cost more.
  return fitLine(points.slice(1))?.slope ?? Number.NaN;
}

async function connected(opening: Promise<Socket>): Promise<Socket> {
  const socket = await opening;
  if (!socket.connected) await eventually('a user connects', () => socket.connected);
  return socket;
}

function closeAll(sockets: Socket[]): void {
  for (const socket of sockets) socket.disconnect();
}

/** @returns bytes in use by all processes of the server, after a collection in each */
async function collected(folder: string): Promise<number> {
  const pids = processes().flatMap(({ pid, environment }) =>
    environment.includes(`TRUTH_FOLDER=${folder}`) ? pid : [],
  );
  let sum = 0;
  for (const pid of pids) {
    const file = join(folder, `${pid}`);
    rmSync(file, { force: true });
    process.kill(pid, 'SIGUSR2');
    sum += Number(await eventually('the server counts its memory', () => written(file)));
  }
  return sum;
}

function written(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return text.endsWith('\n') ? text : undefined;
  } catch {
    return undefined;
  }
}
