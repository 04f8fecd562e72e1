/** Counts the connections to a port of this machine, with the kernel's list of sockets. */
import { setImmediate } from 'node:timers/promises';
import {
  descriptorTargets,
  ESTABLISHED,
  listSockets,
  parseKernelPort,
} from '../../../protocol/base/machine/sockets.ts';

/**
 * Returns the number of established connections to the port from other processes; undefined if the kernel has no list
 * of sockets.
 */
export async function connectionsTo(port: number, tables?: string[]): Promise<number | undefined> {
  const established = await listSockets(
    ({ state, local, remote }) =>
      state === ESTABLISHED && (parseKernelPort(local) === port || parseKernelPort(remote) === port),
    tables,
  );
  if (!established) return undefined;
  const clientEnds = established.filter(({ remote }) => parseKernelPort(remote) === port);
  const own = clientEnds.length > 0 ? descriptorTargets('self') : new Set<string>();
  const ownEnds = new Set(clientEnds.filter(({ link }) => own.has(link)).map(({ local }) => local));
  return established.filter(({ local, remote }) => parseKernelPort(local) === port && !ownEnds.has(remote)).length;
}

/** A process that holds connections of clients. */
export interface ConnectionHolding {
  pid: number;
  connections: number;
  /** Whether the process has about as many outgoing connections as incoming connections, like a proxy. */
  passesOn: boolean;
}

/** Maximum number of proxies that forward a connection one after the other. */
const MAX_HOPS = 4;
/**
 * Ratio of outgoing to incoming connections from which a process counts as a proxy. A server has few outgoing
 * connections, for example to a database.
 */
const MIN_PASSED_ON = 0.5;
/** Number of sockets that any process may have besides connections, for example for its output. */
const USUAL_SOCKETS = 4;
/** Minimum number of a proxy's connections to a port for the port to count as the next hop. */
const MIN_TO_SERVER = 2;

/**
 * Finds the processes that hold the connections to a port. If these are proxies, also finds the processes to which they
 * forward the connections, and so on.
 * @param mostFiles maximum number of open files to read of each process; above it, `connections` is too low
 * @returns a list of processes for each hop; the last list contains the servers, if they are among `pids`; undefined if
 * the kernel has no list of sockets
 */
export async function connectionHoldingsOf(
  pids: Iterable<number>,
  port: number,
  mostFiles?: number,
): Promise<ConnectionHolding[][] | undefined> {
  const owners: { pid: number; links: string[] }[] = [];
  for (const pid of pids) {
    owners.push({ pid, links: [...descriptorTargets(pid, mostFiles)].filter(isSocket) });
    // Reading thousands of links takes milliseconds, so the event loop continues in between.
    await setImmediate();
  }
  const owned = new Set(owners.flatMap(({ links }) => links));
  const sockets = await listSockets(({ state, link }) => state === ESTABLISHED && owned.has(link));
  if (!sockets) return undefined;
  const established = new Map(sockets.map((socket) => [socket.link, socket]));
  const hops: ConnectionHolding[][] = [];
  const passed = new Set<number>();
  for (let ports = [port]; ports.length > 0 && hops.length < MAX_HOPS; ) {
    for (const passedPort of ports) passed.add(passedPort);
    const held = new Set(
      [...established.values()].flatMap(({ link, local }) => (ports.includes(parseKernelPort(local)) ? [link] : [])),
    );
    const hop = owners.flatMap(({ pid, links }) => {
      const connections = links.filter((link) => held.has(link)).length;
      if (connections === 0) return [];
      const otherLinks = links.filter((link) => !held.has(link));
      return [
        { pid, connections, otherLinks, passesOn: otherLinks.length - USUAL_SOCKETS >= MIN_PASSED_ON * connections },
      ];
    });
    if (hop.length === 0) break;
    hops.push(hop.map(({ otherLinks: _, ...holding }) => holding));
    const further = hop.flatMap(({ passesOn, otherLinks }) => (passesOn ? otherLinks : []));
    const ends = further.flatMap((link) => established.get(link)?.remote ?? []);
    const next = Map.groupBy(ends, parseKernelPort);
    ports = [...next].flatMap(([to, some]) => (!passed.has(to) && some.length >= MIN_TO_SERVER ? [to] : []));
  }
  return hops;
}

const isSocket = (link: string) => link.startsWith('socket:');
