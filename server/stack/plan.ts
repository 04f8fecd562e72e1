/** How many processes a target needs, given the limits of the machine. */

import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { usableCores } from '../../protocol/base/machine/usable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

export interface Machine {
  cores: number;
  /** Hard limit of open files per process, which a process can use without root. */
  openFilesMax: number;
  /** Whether all of 127.0.0.0/8 is available, as on Linux. */
  manyLoopbackAddresses: boolean;
}

export interface PlanRequest {
  connections: number;
  profile: 'full' | 'embedded';
  /** Socket.IO workers; undefined lets the machine decide. */
  workers: number | undefined;
}

/** Files that a process needs besides its connections: logs, listeners, Redis, control connections. */
export const RESERVED_FILES = 256;
/**
 * Share of a limit that is planned for: load is never quite even, and other workers take over that of a restarted one.
 */
const WORKER_HEADROOM = 0.9;
/** For nginx's workers, to which the kernel distributes connections less evenly than nginx does to the Socket.IO workers. */
const NGINX_HEADROOM = 0.8;
/**
 * An address has 28,232 ephemeral ports for connections to one worker's port. Once more than half of them are taken,
 * the kernel has to search for a free one, and each connection costs more than the one before.
 */
const CONNECTIONS_PER_ADDRESS = 8000;
/** IANA's ephemeral range, if there is only one loopback address, as on macOS. */
const PORTS_OF_ONE_ADDRESS = 16_384;
/** What Linux and macOS allow where the limit is `unlimited`. */
const MOST_OPEN_FILES = 2 ** 20;
/** One for the client, one for the worker. */
const FILES_PER_PROXIED_CONNECTION = 2;

export type Plan = ReturnType<typeof planStack>;

/** @throws CapacityError `LIMIT_TOO_LOW` when one embedded worker cannot hold the target */
export function planStack(request: PlanRequest, machine: Machine) {
  const { connections, profile } = request;
  const usableFiles = Math.max(1, machine.openFilesMax - RESERVED_FILES);
  const ports = machine.manyLoopbackAddresses ? Number.POSITIVE_INFINITY : PORTS_OF_ONE_ADDRESS;
  const perWorker = Math.floor(Math.min(usableFiles, ports) * WORKER_HEADROOM);
  const mostPerNginxWorker = usableFiles / FILES_PER_PROXIED_CONNECTION;
  const perNginxWorker = Math.floor(
    Math.min(mostPerNginxWorker * NGINX_HEADROOM, meanWhereFullestHas(mostPerNginxWorker)),
  );

  if (profile === 'embedded' && connections > usableFiles) {
    throw new CapacityError(
      'LIMIT_TOO_LOW',
      `The embedded profile has a single worker, which can open only ${machine.openFilesMax} files: too few for ${connections} connections.`,
      'Raise the hard limit (ulimit -Hn), or use the full profile: npm run setup',
    );
  }
  const workers =
    profile === 'embedded' ? 1 : (request.workers ?? Math.max(machine.cores, Math.ceil(connections / perWorker)));

  const nginxWorkers = Math.max(machine.cores, Math.ceil(connections / perNginxWorker));
  // nginx allocates this table at start, at some 400 bytes per entry, so its size follows the target, not just the
  // limit.
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
      /** From which it connects to each worker. */
      sourceAddresses: machine.manyLoopbackAddresses
        ? Math.max(1, Math.ceil(connections / workers / CONNECTIONS_PER_ADDRESS))
        : 1,
    },
  };
}

/** @returns connections at which the fullest of nginx's `workers` has `each` */
export function perWorkerCapacity(each: number, workers: number): number {
  return Math.floor(workers === 1 ? each : workers * meanWhereFullestHas(each));
}

/**
 * The kernel distributes connections to nginx's workers by hash: the fullest gets about three standard deviations more
 * than the mean.
 */
function meanWhereFullestHas(each: number): number {
  const root = (Math.sqrt(9 + 4 * each) - 3) / 2;
  return root * root;
}

export function readMachine(): Machine {
  return planningMachine(usableCores(), openFileLimits().hard, process.platform === 'linux');
}

/** @param cores a quota of CPU time can be worth a fraction of one @param openFiles hard limit of a process */
export function planningMachine(cores: number, openFiles: number, manyLoopbackAddresses: boolean): Machine {
  return {
    cores: Math.max(1, Math.floor(cores)),
    openFilesMax: Math.min(openFiles, MOST_OPEN_FILES),
    manyLoopbackAddresses,
  };
}
