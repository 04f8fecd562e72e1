/** Who uses a port of this machine, as the kernel lists its sockets: connections to it, and processes that listen on it. */
import { descriptorsOf, ESTABLISHED, LISTEN, listSockets, portOfEnd } from '../../../protocol/machine/sockets.ts';
import { readProcessTable, withDescendants } from './process-table.ts';

/** Programs that listen for containers: the process that answers is another, in a container. */
const FOR_CONTAINERS = /^(docker-proxy|rootlessport|slirp4netns|pasta)/;

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

/** @returns ids of the processes that listen on it; undefined if nobody may know them, or they are in containers */
export async function listenersOn(port: number): Promise<number[] | undefined> {
  const sockets = (await listSockets())?.filter(({ local, state }) => state === LISTEN && portOfEnd(local) === port);
  if (!sockets || sockets.length === 0) return undefined;
  const links = new Set(sockets.map(({ link }) => link));
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const found = [...table.keys()].filter(
    (pid) => !own.has(pid) && [...descriptorsOf(pid)].some((link) => links.has(link)),
  );
  const forContainers = found.some((pid) => FOR_CONTAINERS.test(table.get(pid)?.name ?? ''));
  return found.length === 0 || forContainers ? undefined : found;
}
