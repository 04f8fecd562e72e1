/** How many processes a target needs, from what the machine allows each of them. */
import { availableParallelism } from 'node:os';
import { execa } from 'execa';
import { CapacityError } from '../../protocol/errors.ts';

export interface Machine {
  cores: number;
  /** Hard limit of open files per process: what a process can have without root. */
  openFilesMax: number;
  /** Whether all of 127.0.0.0/8 is there, as on Linux. */
  manyLoopbackAddresses: boolean;
}

export interface Plan {
  workers: number;
  nginx: {
    workers: number;
    connectionsPerWorker: number;
    openFilesPerWorker: number;
    /** Addresses from which it connects to each worker. */
    sourceAddresses: number;
  };
}

export interface PlanRequest {
  connections: number;
  profile: 'full' | 'embedded';
  /** Socket.IO workers; undefined lets the machine decide. */
  workers: number | undefined;
}

/** Files that a process needs for itself: logs, listeners, Redis, control connections. */
export const RESERVED_FILES = 256;
/** Share of a limit that is planned with: load never spreads quite evenly, and a restarted worker's is taken over. */
const WORKER_HEADROOM = 0.9;
/** The kernel deals connections to nginx's workers by hash, which is less even than nginx deals them to ours. */
const NGINX_HEADROOM = 0.8;
/**
 * An address has 28,232 ephemeral ports towards one worker's port. When more than half of them are taken, the kernel
 * searches for the rest, and each connection costs more than the one before.
 */
const CONNECTIONS_PER_ADDRESS = 8000;
/** Where there is only one loopback address, as on macOS: IANA's ephemeral range. */
const PORTS_OF_ONE_ADDRESS = 16_384;
/** From the client, and to the worker. */
const FILES_PER_PROXIED_CONNECTION = 2;

/** @throws CapacityError `TOO_MANY_CONNECTIONS` when one embedded worker cannot hold the target */
export function planStack(request: PlanRequest, machine: Machine): Plan {
  const { connections, profile } = request;
  const usableFiles = Math.max(1, machine.openFilesMax - RESERVED_FILES);
  const ports = machine.manyLoopbackAddresses ? Number.POSITIVE_INFINITY : PORTS_OF_ONE_ADDRESS;
  const perWorker = Math.floor(Math.min(usableFiles, ports) * WORKER_HEADROOM);
  const perNginxWorker = Math.floor((usableFiles * NGINX_HEADROOM) / FILES_PER_PROXIED_CONNECTION);

  if (profile === 'embedded' && connections > usableFiles) {
    throw new CapacityError(
      'TOO_MANY_CONNECTIONS',
      `The embedded profile has a single worker, which can open only ${machine.openFilesMax} files: too few for ${connections} connections.`,
      'Raise the hard limit (ulimit -Hn), or use the full profile: npm run setup',
    );
  }
  const workers =
    profile === 'embedded' ? 1 : (request.workers ?? Math.max(machine.cores, Math.ceil(connections / perWorker)));

  const nginxWorkers = Math.max(machine.cores, Math.ceil(connections / perNginxWorker));
  // nginx allocates this table at start (some 400 bytes an entry), so it follows the target and not the limit alone.
  const connectionsPerWorker = Math.min(
    usableFiles,
    Math.ceil((connections * FILES_PER_PROXIED_CONNECTION) / nginxWorkers / NGINX_HEADROOM) + RESERVED_FILES,
  );
  return {
    workers,
    nginx: {
      workers: nginxWorkers,
      connectionsPerWorker,
      openFilesPerWorker: Math.min(machine.openFilesMax, connectionsPerWorker + RESERVED_FILES),
      sourceAddresses: machine.manyLoopbackAddresses
        ? Math.max(1, Math.ceil(connections / workers / CONNECTIONS_PER_ADDRESS))
        : 1,
    },
  };
}

export async function readMachine(): Promise<Machine> {
  const { stdout } = await execa('sh', ['-c', 'ulimit -Hn']);
  return {
    cores: availableParallelism(),
    // `unlimited` is not: 2^20 is what Linux and macOS allow in practice.
    openFilesMax: stdout === 'unlimited' ? 1_048_576 : Number(stdout),
    manyLoopbackAddresses: process.platform === 'linux',
  };
}
