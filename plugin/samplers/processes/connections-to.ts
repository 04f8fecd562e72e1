/** Who uses a port of this machine, as the kernel lists its sockets: connections to it, and processes that listen on it. */
import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { readProcessTable, withDescendants } from './process-table.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Its hexadecimal state. */
const [ESTABLISHED, LISTEN] = ['01', '0A'];
/** Programs that listen for containers: the process that answers is another, in a container. */
const FOR_CONTAINERS = /^(docker-proxy|rootlessport|slirp4netns|pasta)/;

/** @returns the established ones, of all clients; undefined where there is no such list */
export async function connectionsTo(port: number, tables = TABLES): Promise<number | undefined> {
  return (await inodesOf(port, ESTABLISHED, tables))?.length;
}

/** @returns ids of the processes that listen on it; undefined if nobody may know them, or they are in containers */
export async function listenersOn(port: number): Promise<number[] | undefined> {
  const inodes = await inodesOf(port, LISTEN, TABLES);
  if (!inodes || inodes.length === 0) return undefined;
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const found = [...table.keys()].filter((pid) => !own.has(pid) && hasOpen(pid, links));
  const forContainers = found.some((pid) => FOR_CONTAINERS.test(table.get(pid)?.name ?? ''));
  return found.length === 0 || forContainers ? undefined : found;
}

/** `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode`. */
async function inodesOf(port: number, state: string | undefined, tables: string[]): Promise<string[] | undefined> {
  const texts = await Promise.all(tables.map((table) => readFile(table, 'latin1').catch(() => undefined)));
  const known = texts.filter((text) => text !== undefined);
  if (known.length === 0) return undefined;
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = known.flatMap((text) => text.split('\n').map((row) => row.trim().split(/\s+/)));
  return rows.flatMap((row) => (row[1]?.endsWith(local) && row[3] === state ? [row[9] ?? ''] : []));
}

function hasOpen(pid: number, links: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => links.has(readlink(`/proc/${pid}/fd/${fd}`)));
  } catch {
    return false; // of another user, or it has ended
  }
}

function readlink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
