/** Finds the processes that listen on a port, if visible to this user. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt } from '../attempt.ts';
import { printable, printableCommand } from '../printable.ts';
import { descriptorsOf, type KernelSocket, LISTEN, listSockets, portOfEnd } from './sockets.ts';

/** Addresses whose listeners accept connections to 127.0.0.1: 127.0.0.1, 0.0.0.0, `::`, and 127.0.0.1 as an IPv6 address. */
const REACHED_BY_LOOPBACK = new Set(['0100007F', '00000000', '0'.repeat(32), '0000000000000000FFFF00000100007F']);
const MAX_NAME_LENGTH = 80;

export interface PortListeners {
  /** Listening sockets in this network namespace. */
  sockets: KernelSocket[];
  pids: number[];
  /** Whether the processes of all sockets are visible to this user. */
  areAllSeen: boolean;
}

/** @param isMeant selects among the listening sockets on the port @returns undefined if the kernel does not list sockets */
export async function findListeners(
  port: number,
  isMeant: (socket: KernelSocket) => boolean = () => true,
): Promise<PortListeners | undefined> {
  const sockets = (await listSockets())?.filter(
    (socket) => socket.state === LISTEN && portOfEnd(socket.local) === port && isMeant(socket),
  );
  if (!sockets) return undefined;
  const links = sockets.map(({ link }) => link);
  const owners = links.length === 0 ? [] : processIds().map((pid) => ({ pid, links: descriptorsOf(pid) }));
  const found = owners.filter((owner) => links.some((link) => owner.links.has(link)));
  const areAllSeen = links.every((link) => found.some((owner) => owner.links.has(link)));
  return { sockets, pids: found.map(({ pid }) => pid), areAllSeen };
}

/** Describes the program on the port of 127.0.0.1, such as `node server.js (pid 4711)`. Never rejects. */
export async function describeListeners(port: number): Promise<string> {
  const listeners = await findListeners(port, ({ localAddress }) => REACHED_BY_LOOPBACK.has(localAddress));
  if (!listeners) return 'another program';
  const { sockets, pids } = listeners;
  if (sockets.length === 0) {
    return 'a program outside this network namespace, such as a container with a published port, or a port forwarding';
  }
  const [first, ...others] = pids;
  if (first === undefined) return `a program of ${userName(sockets[0]?.uid)}, whose name is not visible to this user`;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${programName(first)} (pid ${first}${more})`;
}

function processIds(): number[] {
  const names = attempt(() => readdirSync('/proc')) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function programName(pid: number): string {
  const line = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '';
  const [program = '', ...args] = line.split('\0');
  const name = program.includes(' ') ? program : basename(program);
  return printableCommand([name, ...args], MAX_NAME_LENGTH) || 'an unnamed process';
}

function userName(uid = 0): string {
  const users = attempt(() => readFileSync('/etc/passwd', 'utf8')) ?? '';
  const name = new RegExp(`^([^:]+):[^:]*:${uid}:`, 'm').exec(users)?.[1];
  return `user ${name === undefined ? uid : printable(name, MAX_NAME_LENGTH)}`;
}
