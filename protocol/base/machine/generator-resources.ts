/**
 * Resources of the machine that the load generator needs. The engine uses them to plan processes, the doctor to check
 * limits.
 */
import type { ClientKind } from '../../wire/connection.ts';

/** Number of file descriptors of a fleet process that are not connections: pipes, epoll, module files. */
export const FLEET_RESERVED_FILES = 200;
/**
 * Maximum number of fleet processes. More processes would use more memory for themselves than for any realistic
 * number of connections.
 */
export const MAX_FLEET_PROCESSES = 64;

/**
 * Maximum number of connections per source address. It is far below the 28,232 ephemeral ports of an address: once more
 * than half of these ports are used, the kernel's search for a free port gets slower with each connection.
 */
export const CONNECTIONS_PER_LOOPBACK_ADDRESS = 10_000;

/**
 * Source ports that the light client binds on each source address. They are below the ephemeral range, because the
 * kernel does not use explicitly bound ports for outgoing connections of a proxy, on any address.
 */
export const SOURCE_PORTS = { first: 2000, last: 32_767 };

/**
 * Maximum number of connections per fleet process. A connection of the official client takes 17 KB of V8's heap.
 * The heap is limited to 2 GB, or 4 GB on machines with at least 15 GB. More than half of the heap stays free for
 * messages.
 */
const MAX_PER_PROCESS: Record<ClientKind, number> = { light: Number.POSITIVE_INFINITY, official: 50_000 };

/**
 * Returns the number of fleet processes that an Artillery worker needs for these connections, at least 1.
 * @param fdLimit limit of open files per process
 */
export function fleetProcessCount(connections: number, fdLimit: number, client: ClientKind): number {
  const each = Math.max(1, Math.min(fdLimit - FLEET_RESERVED_FILES, MAX_PER_PROCESS[client]));
  return Math.min(MAX_FLEET_PROCESSES, Math.max(1, Math.ceil(connections / each)));
}
