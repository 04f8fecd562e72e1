/**
 * Measures memory per connection of a server without product code: by `process.memoryUsage()` in the server and by
 * glibc, with clients of socket.io-client.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Socket } from 'socket.io-client';
import { mean, median, sum } from '../../report/statistics/statistics.ts';
import { studentT } from '../../report/statistics/student.ts';
import { type Neighbour, startNeighbour } from './neighbours.ts';
import { eventually } from './poll.ts';
import { processes } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

/** Addon that counts the bytes of `malloc`. Missing unless `prepare.sh` has built it. */
const TRUTH_MALLOC = process.env.CAPACITY_NEIGHBOURS ? join(process.env.CAPACITY_NEIGHBOURS, 'malloc.node') : '';
const PRELOADED = fileURLToPath(new URL('../fixtures/neighbours/truth.cjs', import.meta.url));
const TOGETHER = 10;
const STARTS = 3;
const PLATEAUS = 5;
const WARM_UP_USERS = 100;

/** Bytes per connection: the mean of all starts, with its 95 % interval. */
export interface HeapTruth {
  bytes: number;
  low: number;
  high: number;
}

/**
 * Starts the server several times with a preloaded file that counts its memory after a collection, and connects users.
 * The median step between two plateaus ignores memory that the server takes once, such as a larger table.
 * @returns memory per connection in all processes of the server: as counted by V8, and by V8's heap plus `malloc`
 */
export async function heapTruth(
  t: Cleaner,
  neighbour: Neighbour,
  env: Record<string, string>,
  connect: (url: string) => Promise<Socket>,
  connections: number,
): Promise<{ inV8: HeapTruth; withNative: HeapTruth }> {
  const [inV8, withNative]: [number[], number[]] = [[], []];
  for (let start = 0; start < STARTS; start++) {
    const steps = await stepsOfStart(t, neighbour, env, connect, connections / PLATEAUS);
    inV8.push(median(steps.map(([v8]) => v8)) ?? Number.NaN);
    withNative.push(median(steps.map(([, all]) => all)) ?? Number.NaN);
  }
  return { inV8: intervalOf(inV8), withNative: intervalOf(withNative) };
}

/** @returns memory per connection of each step between two plateaus */
async function stepsOfStart(
  t: Cleaner,
  neighbour: Neighbour,
  env: Record<string, string>,
  connect: (url: string) => Promise<Socket>,
  count: number,
): Promise<[inV8: number, withNative: number][]> {
  const folder = tempFolder(t);
  const variables = { ...env, NODE_OPTIONS: `--require ${PRELOADED}`, TRUTH_FOLDER: folder, TRUTH_MALLOC };
  const url = await startNeighbour(t, neighbour, variables);
  const open: Socket[] = [];
  t.after(() => closeAll(open));
  const join = async (users: number) => {
    for (let joined = 0; joined < users; joined += TOGETHER) {
      const together = Array.from({ length: Math.min(TOGETHER, users - joined) }, () => connected(connect(url)));
      open.push(...(await Promise.all(together)));
    }
  };
  for (let warm = 0; warm < WARM_UP_USERS; warm += TOGETHER) {
    await join(TOGETHER);
    closeAll(open.splice(0));
  }
  const plateaus: [number, number][] = [];
  for (let plateau = 0; plateau < PLATEAUS; plateau++) {
    await join(count);
    await collected(folder);
    plateaus.push(await collected(folder));
  }
  closeAll(open.splice(0));
  return plateaus.slice(1).map(([v8, all], index) => {
    const [v8Before, allBefore] = plateaus[index] as [number, number];
    return [(v8 - v8Before) / count, (all - allBefore) / count];
  });
}

function intervalOf(starts: number[]): HeapTruth {
  const [bytes, degrees] = [mean(starts), starts.length - 1];
  const variance = sum(starts.map((start) => (start - bytes) ** 2)) / degrees;
  const half = studentT(0.95, degrees) * Math.sqrt(variance / starts.length);
  return { bytes, low: bytes - half, high: bytes + half };
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
