/** Counts connections to a port of this machine from the kernel's list of sockets. */
import { descriptorsOf, ESTABLISHED, listSockets, portOfEnd } from '../../../protocol/base/machine/sockets.ts';

/** Returns established connections of all clients except this process; undefined if the kernel has no list of sockets. */
export async function connectionsTo(port: number, tables?: string[]): Promise<number | undefined> {
  const sockets = await listSockets(tables);
  if (!sockets) return undefined;
  const established = sockets.filter(({ state }) => state === ESTABLISHED);
  const clientEnds = established.filter(({ remote }) => portOfEnd(remote) === port);
  const own = clientEnds.length > 0 ? descriptorsOf('self') : new Set<string>();
  const ownEnds = new Set(clientEnds.filter(({ link }) => own.has(link)).map(({ local }) => local));
  return established.filter(({ local, remote }) => portOfEnd(local) === port && !ownEnds.has(remote)).length;
}

/** A process with connections of clients. */
export interface Holding {
  pid: number;
  connections: number;
  /** The process also has about as many outgoing connections, as a proxy has. */
  passesOn: boolean;
}

/** Maximum length of a chain of proxies. */
const MAX_HOPS = 4;
/** Share of outgoing connections from which a process counts as a proxy. A server has few, such as to a database. */
const MIN_PASSED_ON = 0.5;
/** Sockets that any process may have, such as its output. */
const USUAL_SOCKETS = 4;
/** Minimum number of a proxy's connections to a port that counts as the next hop. */
const MIN_TO_SERVER = 2;

/**
 * Finds the processes that hold the connections to a port, then the processes that hold the connections that these pass on, and so on.
 * @param mostFiles limit of files to read for each process, above which `connections` is too low
 * @returns a list for each hop; the last has the servers, if they are among `pids`; undefined if the kernel has no list of sockets
 */
export async function holdingsOf(
  pids: Iterable<number>,
  port: number,
  mostFiles?: number,
): Promise<Holding[][] | undefined> {
  const all = await listSockets();
  if (!all) return undefined;
  const established = new Map(all.flatMap((socket) => (socket.state === ESTABLISHED ? [[socket.link, socket]] : [])));
  const owners = [...pids].map((pid) => ({ pid, links: [...descriptorsOf(pid, mostFiles)].filter(isSocket) }));
  const hops: Holding[][] = [];
  const passed = new Set<number>();
  for (let ports = [port]; ports.length > 0 && hops.length < MAX_HOPS; ) {
    for (const passedPort of ports) passed.add(passedPort);
    const held = new Set(
      [...established.values()].flatMap(({ link, local }) => (ports.includes(portOfEnd(local)) ? [link] : [])),
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
    const next = Map.groupBy(ends, portOfEnd);
    ports = [...next].flatMap(([to, some]) => (!passed.has(to) && some.length >= MIN_TO_SERVER ? [to] : []));
  }
  return hops;
}

const isSocket = (link: string) => link.startsWith('socket:');
