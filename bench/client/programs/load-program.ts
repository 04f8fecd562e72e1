/**
 * The protocol between the bench and a generator program, in lines: the program prints `ready`, ramps up when it reads
 * a line, prints `joined`, and when its input ends, prints its counts and ends. floor.c does the same.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

export interface Load {
  url: string;
  /** The certificate to trust, as a PEM file, if the URL is https. */
  caFile?: string;
  connections: number;
  ratePerSec: number;
  /** Default: WebSocket only. */
  transports?: ('polling' | 'websocket')[];
}

export interface Counts {
  joined: number;
  received: number;
}

/** The first event of the wire contract. */
export const JOIN = ['join_room', { clientKey: 'capacity' }] as const;

/**
 * @param connectOne resolves when the connection has joined the room; a failure ends the program
 * @param counts after the last broadcast
 */
export async function runProgram(
  load: Load,
  connectOne: () => Promise<void>,
  counts: () => Promise<Counts>,
): Promise<void> {
  console.log('ready');
  await once(process.stdin, 'data');
  const ended = once(process.stdin, 'end');
  await ramp(load, connectOne);
  console.log('joined');
  await ended;
  console.log(JSON.stringify(await counts()));
}

/** One connection every 1/rate seconds, on an absolute schedule: a late tick starts all that are due. */
async function ramp({ connections, ratePerSec }: Load, connectOne: () => Promise<void>): Promise<void> {
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

/** @returns what Node's TLS and the clients on it call their options */
export function trustOf({ caFile }: Load): { ca?: string } {
  return caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') };
}

/** The load, which the bench passes on the command line. */
export function loadFromArguments(): Load {
  return JSON.parse(process.argv[2] ?? '{}') as Load;
}
