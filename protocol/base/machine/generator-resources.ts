/** Resources that the load generator uses of its machine. The engine plans with them, and the doctor checks them. */
import type { ClientKind } from '../../wire/connection.ts';

/** File descriptors of a fleet process besides its connections: pipes, epoll, module files. */
export const FLEET_RESERVED_FILES = 200;
/** Limit of fleet processes, whose own memory would be larger than that of any realistic number of connections. */
export const MAX_FLEET_PROCESSES = 64;

/**
 * Connections per source address, far below its 28,232 ephemeral ports: once more than half are taken, the kernel's search for a free one
 * gets slower with each connection.
 */
export const CONNECTIONS_PER_LOOPBACK_ADDRESS = 10_000;

/**
 * Source ports that the light client uses in turn on each source address. They are below the ephemeral range, because the kernel does not
 * give explicitly bound ports to a proxy's outgoing connections, on any address.
 */
export const SOURCE_PORTS = { first: 2000, last: 32_767 };

/**
 * Limit of connections per process. Each connection of the official client takes 17 KB of V8's heap without messages, and the heap is
 * limited to 2 GB (4 GB on machines with 15 GB or more). This leaves more than half for messages.
 */
const MAX_PER_PROCESS: Record<ClientKind, number> = { light: Number.POSITIVE_INFINITY, official: 50_000 };

/**
 * Returns the number of fleet processes for these connections of an Artillery worker, at least 1.
 * @param fdLimit limit of open files per process
 */
export function fleetProcesses(connections: number, fdLimit: number, client: ClientKind): number {
  const each = Math.max(1, Math.min(fdLimit - FLEET_RESERVED_FILES, MAX_PER_PROCESS[client]));
  return Math.min(MAX_FLEET_PROCESSES, Math.max(1, Math.ceil(connections / each)));
}
