/**
 * Line protocol between the bench and a generator program, which floor.c also implements. The program prints `ready`,
 * starts its ramp when it reads a line, and prints `joined`. At the end of its input, it prints its counts and ends.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

export interface BenchLoad {
  url: string;
  /** PEM file with the CA certificate, for https. */
  caFile?: string;
  connections: number;
  ratePerSec: number;
}

export interface LoadCounts {
  joined: number;
  /** Number of received messages. Undefined if the program does not count them. */
  received?: number;
}

/** Event and argument that make a connection join the room. */
export const JOIN_MESSAGE = ['join_room', { clientKey: 'capacity' }] as const;

/**
 * @param connectOne resolves when the connection has joined the room; a rejection ends the program
 * @param counts called after the last broadcast
 */
export async function runLoadProgram(
  load: BenchLoad,
  connectOne: () => Promise<void>,
  counts: () => Promise<LoadCounts>,
): Promise<void> {
  console.log('ready');
  await once(process.stdin, 'data');
  const ended = once(process.stdin, 'end');
  await ramp(load, connectOne);
  console.log('joined');
  await ended;
  console.log(JSON.stringify(await counts()));
}

/**
 * Opens a connection every 1/rate seconds, on an absolute schedule. A late timer opens all connections that are due.
 */
async function ramp({ connections, ratePerSec }: BenchLoad, connectOne: () => Promise<void>): Promise<void> {
  const startMs = performance.now();
  const joins: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(connections, Math.floor(((performance.now() - startMs) * ratePerSec) / 1000));
      while (joins.length < due) joins.push(connectOne());
      if (joins.length < connections) return;
      clearInterval(timer);
      resolve();
    }, 1000 / ratePerSec);
  });
  await Promise.all(joins);
}

/** Returns the TLS options for Node and for clients that use Node's options. */
export function loadTlsOptions({ caFile }: BenchLoad): { ca?: string } {
  return caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') };
}

/** Parses the load from the command line. */
export function loadFromArguments(): BenchLoad {
  return JSON.parse(process.argv[2] ?? '{}') as BenchLoad;
}
