/**
 * Resources that the load generator takes of its machine: the engine plans with them, the doctor checks against them.
 */
import type { ClientKind } from '../../wire/connection.ts';

/** Descriptors that a fleet process needs besides its connections: pipes, epoll, files of modules. */
export const FLEET_RESERVED_FILES = 200;
/** More fleet processes than this would need more memory than any realistic number of connections is worth. */
export const MAX_FLEET_PROCESSES = 64;

/**
 * Far below the 28,232 ephemeral ports of a source address: once more than half of them are taken, the kernel has to
 * search for a free one, and each connection becomes more expensive than the one before.
 */
export const CONNECTIONS_PER_LOOPBACK_ADDRESS = 10_000;

/**
 * Ports that the light client uses in turn, on each of its source addresses. They are below the ephemeral range,
 * because the kernel gives no port that is bound explicitly, on whatever address, to a proxy's outgoing connections.
 */
export const SOURCE_PORTS = { first: 2000, last: 32_767 };

/**
 * A connection of the official client takes 17 KB of V8's heap, without messages, and V8 ends a process whose heap has reached
 * 2 GB (4 GB on a machine with 15 GB or more). With this many, more than half is left for messages.
 */
const MAX_PER_PROCESS: Record<ClientKind, number> = { light: Number.POSITIVE_INFINITY, official: 50_000 };

/**
 * @param fdLimit limit of open files per process
 * @returns fleet processes for that many connections of one Artillery worker; at least one
 */
export function fleetProcesses(connections: number, fdLimit: number, client: ClientKind): number {
  const each = Math.max(1, Math.min(fdLimit - FLEET_RESERVED_FILES, MAX_PER_PROCESS[client]));
  return Math.min(MAX_FLEET_PROCESSES, Math.max(1, Math.ceil(connections / each)));
}
