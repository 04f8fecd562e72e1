/** Who uses a port of this machine, as the kernel lists its sockets: connections to it, and processes that listen on it. */
import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { attempt } from '../../../protocol/helpers/attempt.ts';
import { readProcessTable, withDescendants } from './process-table.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Its hexadecimal state. */
const [ESTABLISHED, LISTEN] = ['01', '0A'];
/** Programs that listen for containers: the process that answers is another, in a container. */
const FOR_CONTAINERS = /^(docker-proxy|rootlessport|slirp4netns|pasta)/;

/** Length of an address and port: for IPv6, so much is the IPv4 address in it, as which one end of a connection may be listed. */
const END_LENGTH = '0100007F:0BB8'.length;

/** @returns the established ones, of all clients but this process; undefined where there is no such list */
export async function connectionsTo(port: number, tables = TABLES): Promise<number | undefined> {
  const sockets = await socketsIn(tables);
  if (!sockets) return undefined;
  const established = sockets.filter(({ state }) => state === ESTABLISHED);
  const ends = established.filter(({ remote }) => portOf(remote) === port);
  const own = ends.length > 0 ? openIn('self') : new Set<string>();
  const ownEnds = new Set(ends.filter(({ link }) => own.has(link)).map(({ local }) => local));
  return established.filter(({ local, remote }) => portOf(local) === port && !ownEnds.has(remote)).length;
}

/** @returns ids of the processes that listen on it; undefined if nobody may know them, or they are in containers */
export async function listenersOn(port: number): Promise<number[] | undefined> {
  const sockets = (await socketsIn(TABLES))?.filter(({ local, state }) => state === LISTEN && portOf(local) === port);
  if (!sockets || sockets.length === 0) return undefined;
  const links = new Set(sockets.map(({ link }) => link));
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const found = [...table.keys()].filter((pid) => !own.has(pid) && [...openIn(pid)].some((link) => links.has(link)));
  const forContainers = found.some((pid) => FOR_CONTAINERS.test(table.get(pid)?.name ?? ''));
  return found.length === 0 || forContainers ? undefined : found;
}

/** With a `link` as in a process's descriptors. `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode`. */
async function socketsIn(tables: string[]) {
  const texts = await Promise.all(tables.map((table) => readFile(table, 'latin1').catch(() => undefined)));
  const known = texts.filter((text) => text !== undefined);
  if (known.length === 0) return undefined;
  const rows = known.flatMap((text) => text.trim().split('\n').slice(1));
  return rows.map((row) => {
    const [, local = '', remote = '', state = '', , , , , , inode] = row.trim().split(/\s+/);
    return { local: local.slice(-END_LENGTH), remote: remote.slice(-END_LENGTH), state, link: `socket:[${inode}]` };
  });
}

function portOf(end: string): number {
  return Number.parseInt(end.slice(-4), 16);
}

/** @returns what its descriptors lead to; nothing of a process of another user, or one that has ended */
function openIn(pid: number | 'self'): Set<string> {
  const descriptors = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return new Set(descriptors.flatMap((fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []));
}
