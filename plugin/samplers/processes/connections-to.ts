/** Connections to a port of this machine, as the kernel lists its sockets. */
import { descriptorsOf, ESTABLISHED, holdsOneOf, listSockets, portOfEnd } from '../../../protocol/machine/sockets.ts';

/** @returns the established ones, of all clients but this process; undefined where there is no such list */
export async function connectionsTo(port: number, tables?: string[]): Promise<number | undefined> {
  const sockets = await listSockets(tables);
  if (!sockets) return undefined;
  const established = sockets.filter(({ state }) => state === ESTABLISHED);
  const ends = established.filter(({ remote }) => portOfEnd(remote) === port);
  const own = ends.length > 0 ? descriptorsOf('self') : new Set<string>();
  const ownEnds = new Set(ends.filter(({ link }) => own.has(link)).map(({ local }) => local));
  return established.filter(({ local, remote }) => portOfEnd(local) === port && !ownEnds.has(remote)).length;
}

/** @returns those of the processes that hold connections to the port; undefined where there is no list of sockets */
export async function holdersOf(pids: number[], port: number): Promise<Set<number> | undefined> {
  const sockets = await listSockets();
  if (!sockets) return undefined;
  const held = sockets.filter(({ local, state }) => state === ESTABLISHED && portOfEnd(local) === port);
  const links = new Set(held.map(({ link }) => link));
  return new Set(pids.filter((pid) => holdsOneOf(pid, links)));
}
