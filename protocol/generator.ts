/** What the load generator takes of its machine: the engine plans with it, and the hook's doctor checks against it. */

/** Descriptors that a fleet process needs for itself: pipes, epoll, files of modules. */
export const FLEET_RESERVED_FILES = 200;
/** More fleet processes than this cost more memory than any connection count that a guess could be right about. */
export const MAX_FLEET_PROCESSES = 64;

/**
 * Far below the 28,232 ephemeral ports that one source address has: when more than half of them are taken, the kernel
 * searches for the rest, and a connection gets dearer with each one.
 */
export const CONNECTIONS_PER_LOOPBACK_ADDRESS = 10_000;

/**
 * Ports that the light client counts through, on each source address that it is given. Below the ephemeral range: a port
 * number that was bound by hand, on whatever address, is one that the kernel no longer gives to a proxy's connections.
 */
export const SOURCE_PORTS = { first: 2000, last: 32_767 };

/**
 * @param fdLimit open files that one process may have
 * @returns fleet processes for that many connections of one Artillery worker; at least one
 */
export function fleetProcesses(connections: number, fdLimit: number): number {
  const each = Math.max(1, fdLimit - FLEET_RESERVED_FILES);
  return Math.min(MAX_FLEET_PROCESSES, Math.max(1, Math.ceil(connections / each)));
}
