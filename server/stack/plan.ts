/** Plans the number of processes for a target, within the limits of the machine. */

import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { usableCores } from '../../protocol/base/machine/usable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

export interface StackMachine {
  cores: number;
  /** Hard limit of open files per process. A process can raise its own limit to it without root. */
  openFilesMax: number;
  /** Whether all addresses in 127.0.0.0/8 are available. They are on Linux. */
  manyLoopbackAddresses: boolean;
}

export interface StackPlanRequest {
  connections: number;
  profile: 'full' | 'embedded';
  /** Number of Socket.IO workers. If undefined, it follows from the machine. */
  workers: number | undefined;
}

/** File descriptors of a process that are not connections of clients: logs, listeners, Redis, control connections. */
export const RESERVED_FILES = 256;
/**
 * Share of a worker's limit that is used for planning. Load is never quite even, and if a worker restarts, its clients
 * move to the other workers.
 */
const WORKER_HEADROOM = 0.9;
/**
 * Share of the limit of nginx's workers that is used for planning. It is lower, because the kernel distributes
 * connections less evenly than nginx.
 */
const NGINX_HEADROOM = 0.8;
/**
 * Maximum number of connections from one source address to one worker. An address has 28,232 ephemeral ports. Once more
 * than half of them are used, the kernel's search for a free port gets slower with each connection.
 */
const CONNECTIONS_PER_ADDRESS = 8000;
/** Size of IANA's range of ephemeral ports. It is the limit if there is a single loopback address, as on macOS. */
const PORTS_OF_ONE_ADDRESS = 16_384;
/** Limit that Linux and macOS enforce if they report it as `unlimited`. */
const UNLIMITED_OPEN_FILES = 2 ** 20;
/** A proxied connection needs a descriptor to the client and a descriptor to the worker. */
const FILES_PER_PROXIED_CONNECTION = 2;

export type StackPlan = ReturnType<typeof planStack>;

/** @throws CapacityError `LIMIT_TOO_LOW` if one embedded worker cannot hold the target */
export function planStack(request: StackPlanRequest, machine: StackMachine) {
  const { connections, profile } = request;
  const usableFiles = Math.max(1, machine.openFilesMax - RESERVED_FILES);
  const ports = machine.manyLoopbackAddresses ? Number.POSITIVE_INFINITY : PORTS_OF_ONE_ADDRESS;
  const perWorker = Math.floor(Math.min(usableFiles, ports) * WORKER_HEADROOM);
  const limitPerNginxWorker = usableFiles / FILES_PER_PROXIED_CONNECTION;
  const perNginxWorker = Math.floor(Math.min(limitPerNginxWorker * NGINX_HEADROOM, meanAtFullest(limitPerNginxWorker)));

  if (profile === 'embedded' && connections > usableFiles) {
    throw new CapacityError(
      'LIMIT_TOO_LOW',
      `The single worker of the embedded profile can open only ${machine.openFilesMax} files, too few for ${connections} connections.`,
      'Raise the hard limit (ulimit -Hn), or use the full profile: npm run setup',
    );
  }
  const workers =
    profile === 'embedded' ? 1 : (request.workers ?? Math.max(machine.cores, Math.ceil(connections / perWorker)));

  const nginxWorkers = Math.max(machine.cores, Math.ceil(connections / perNginxWorker));
  // nginx allocates about 400 bytes per entry of this table at its start, so the table is sized for the target instead
  // of the limit.
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
      /** Number of source addresses that nginx uses for connections to each worker. */
      sourceAddresses: machine.manyLoopbackAddresses
        ? Math.max(1, Math.ceil(connections / workers / CONNECTIONS_PER_ADDRESS))
        : 1,
    },
  };
}

/** Returns the number of connections at which the fullest of nginx's workers has `each` connections. */
export function connectionsAtFullNginxWorker(each: number, workers: number): number {
  return Math.floor(workers === 1 ? each : workers * meanAtFullest(each));
}

/**
 * Returns the mean number of connections per worker if the fullest worker has `each`. The kernel distributes
 * connections by hash, so the fullest worker is about three standard deviations above the mean.
 */
function meanAtFullest(each: number): number {
  const root = (Math.sqrt(9 + 4 * each) - 3) / 2;
  return root * root;
}

export function readStackMachine(): StackMachine {
  return machineForPlan(usableCores(), openFileLimits().hard, process.platform === 'linux');
}

/**
 * @param cores number of usable CPUs; a quota can make it a fraction
 * @param openFiles hard limit of a process
 */
export function machineForPlan(cores: number, openFiles: number, manyLoopbackAddresses: boolean): StackMachine {
  return {
    cores: Math.max(1, Math.floor(cores)),
    openFilesMax: Math.min(openFiles, UNLIMITED_OPEN_FILES),
    manyLoopbackAddresses,
  };
}
