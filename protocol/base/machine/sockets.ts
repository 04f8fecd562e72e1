/**
 * Lists the TCP sockets of this network namespace, and finds the processes that own them or listen on a port. Linux
 * only.
 */
import { createReadStream, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { printableCommand, printableLine } from '../printable.ts';
import { tryOrUndefined } from '../try-or-undefined.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** States of TCP sockets as the kernel writes them, in hexadecimal. */
export const [ESTABLISHED, LISTEN] = ['01', '0A'];

interface KernelSocket {
  /**
   * Last part of the local address with the port, in hexadecimal: `0100007F:0BB8`. For IPv6, it begins with the last 4
   * bytes of the address.
   */
  local: string;
  remote: string;
  /** Complete local address in hexadecimal, 8 or 32 digits. */
  localAddress: string;
  state: string;
  uid: number;
  /** Text `socket:[<inode>]`. The file descriptors of a process are links with this target. */
  link: string;
}

/**
 * Length of the last part of an address that is compared. An IPv4-mapped IPv6 address ends with the IPv4 address, and
 * the kernel can list a connection in either form.
 */
const END_LENGTH = '0100007F:0BB8'.length;

/**
 * Row of a table: `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode`. The
 * header does not match.
 */
const ROW = /^\s*\d+:\s+(\w+:\w{4})\s+(\w+:\w{4})\s+(\w\w)\s+\S+\s+\S+\s+\S+\s+(\d+)\s+\S+\s+(\d+)/;

/**
 * Lists the TCP sockets that `isWanted` accepts; undefined if the kernel has no list of sockets. The list of a large
 * deployment has a million rows, so the function reads it in pieces, and the event loop continues in between.
 */
export async function listSockets(
  isWanted: (socket: KernelSocket) => boolean,
  tables = TABLES,
): Promise<KernelSocket[] | undefined> {
  const lists = await Promise.all(tables.map((table) => readSockets(table, isWanted).catch(() => undefined)));
  const known = lists.filter((list) => list !== undefined);
  return known.length === 0 ? undefined : known.flat();
}

async function readSockets(table: string, isWanted: (socket: KernelSocket) => boolean): Promise<KernelSocket[]> {
  const wanted: KernelSocket[] = [];
  let incompleteRow = '';
  for await (const text of createReadStream(table, 'utf8')) {
    const rows = (incompleteRow + text).split('\n');
    incompleteRow = rows.pop() ?? '';
    wanted.push(...rows.flatMap((row) => parseRow(row) ?? []).filter(isWanted));
  }
  return wanted;
}

/** @param text content of a kernel table, such as /proc/net/tcp */
export function parseSockets(text: string): KernelSocket[] {
  return text.split('\n').flatMap((row) => parseRow(row) ?? []);
}

function parseRow(row: string): KernelSocket | undefined {
  const [, local = '', remote = '', state = '', uid, inode] = ROW.exec(row) ?? [];
  if (inode === undefined) return undefined;
  return {
    local: local.slice(-END_LENGTH),
    remote: remote.slice(-END_LENGTH),
    localAddress: local.slice(0, local.indexOf(':')),
    state,
    uid: Number(uid),
    link: `socket:[${inode}]`,
  };
}

/**
 * Converts an address of a kernel table to text, such as `127.0.0.1` or `[::1]`.
 * @param hex address in 32-bit words, in the machine's byte order
 */
export function parseKernelAddress(hex: string): string {
  const bytes = [...(hex.match(/.{8}/g) ?? [])].flatMap((word) => [...Buffer.from(word, 'hex')].reverse());
  if (bytes.length === 4) return bytes.join('.');
  const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(':')}]`).hostname;
}

/** @param end value of `KernelSocket.local`, such as `0100007F:0BB8` */
export function parseKernelPort(end: string): number {
  return Number.parseInt(end.slice(-4), 16);
}

/**
 * Returns the link targets of a process's file descriptors. Empty if the process has ended or belongs to another user.
 * @param most maximum number of descriptors to read
 */
export function descriptorTargets(pid: number | 'self', most = Number.POSITIVE_INFINITY): Set<string> {
  const descriptors = tryOrUndefined(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return new Set(
    descriptors.slice(0, most).flatMap((fd) => tryOrUndefined(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []),
  );
}

/**
 * Returns whether the process owns any of the sockets. Stops at the first match, because a server can own many sockets.
 */
export function ownsAnySocket(pid: number, links: ReadonlySet<string>): boolean {
  const descriptors = tryOrUndefined(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.some((fd) => links.has(tryOrUndefined(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''));
}

/** Addresses whose listeners accept connections to 127.0.0.1: 127.0.0.1, 0.0.0.0, `::`, and 127.0.0.1 in IPv6 form. */
const REACHED_BY_LOOPBACK = new Set(['0100007F', '00000000', '0'.repeat(32), '0000000000000000FFFF00000100007F']);
const MAX_NAME_LENGTH = 80;

interface SocketHolders {
  /** Sockets in this network namespace. */
  sockets: KernelSocket[];
  pids: number[];
  /** Whether this user could see which processes own the sockets. */
  areAllSeen: boolean;
}

/** Returns the processes that listen on a port; undefined if the kernel does not list sockets. */
export function findListeners(port: number): Promise<SocketHolders | undefined> {
  return findHolders((socket) => isListener(socket, port));
}

async function findHolders(isMeant: (socket: KernelSocket) => boolean): Promise<SocketHolders | undefined> {
  const sockets = await listSockets(isMeant);
  if (!sockets) return undefined;
  const links = sockets.map(({ link }) => link);
  const owners = links.length === 0 ? [] : processIds().map((pid) => ({ pid, links: descriptorTargets(pid) }));
  const found = owners.filter((owner) => links.some((link) => owner.links.has(link)));
  const areAllSeen = links.every((link) => found.some((owner) => owner.links.has(link)));
  return { sockets, pids: found.map(({ pid }) => pid), areAllSeen };
}

function isListener({ state, local }: KernelSocket, port: number): boolean {
  return state === LISTEN && parseKernelPort(local) === port;
}

/** Describes the program that listens on the port of 127.0.0.1, such as `node server.js (pid 4711)`. Never rejects. */
export async function describeListeners(port: number): Promise<string> {
  return describe(await findHolders((one) => isListener(one, port) && REACHED_BY_LOOPBACK.has(one.localAddress)));
}

/**
 * Describes the program that is connected to the port of this machine, such as `node client.js (pid 4711)`. Never
 * rejects.
 */
export async function describeClients(port: number): Promise<string> {
  return describe(await findHolders(({ state, remote }) => state === ESTABLISHED && parseKernelPort(remote) === port));
}

function describe(holders: SocketHolders | undefined): string {
  if (!holders) return 'another program';
  const { sockets, pids } = holders;
  if (sockets.length === 0) {
    return 'a program outside this network namespace, such as a container with a published port, or a port forwarding';
  }
  const [first, ...others] = pids;
  if (first === undefined) return `a program of ${userName(sockets[0]?.uid)}, whose name is not visible to this user`;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${programName(first)} (pid ${first}${more})`;
}

function processIds(): number[] {
  const names = tryOrUndefined(() => readdirSync('/proc')) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function programName(pid: number): string {
  const line = tryOrUndefined(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '';
  const [program = '', ...args] = line.split('\0');
  const name = program.includes(' ') ? program : basename(program);
  return printableCommand([name, ...args], MAX_NAME_LENGTH) || 'an unnamed process';
}

function userName(uid = 0): string {
  const users = tryOrUndefined(() => readFileSync('/etc/passwd', 'utf8')) ?? '';
  const name = new RegExp(`^([^:]+):[^:]*:${uid}:`, 'm').exec(users)?.[1];
  return `user ${name === undefined ? uid : printableLine(name, MAX_NAME_LENGTH)}`;
}
