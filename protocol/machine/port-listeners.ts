/** Names the programs that listen on a port of 127.0.0.1, as far as this user may see them. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt } from '../helpers/attempt.ts';
import { printable, printableCommand } from '../printable.ts';
import { descriptorsOf, type KernelSocket, LISTEN, listSockets, portOfEnd } from './sockets.ts';

/** 127.0.0.1, 0.0.0.0, `::`, and 127.0.0.1 as an IPv6 address: a listener there takes connections to 127.0.0.1. */
const REACHED_BY_LOOPBACK = new Set(['0100007F', '00000000', '0'.repeat(32), '0000000000000000FFFF00000100007F']);
const MAX_NAME_LENGTH = 80;

/** @returns `node server.js (pid 4711)`, or what is known instead; never rejects */
export async function describeListeners(port: number): Promise<string> {
  const sockets = await listSockets();
  if (!sockets) return 'another program';
  const listening = sockets.filter((socket) => listensAt(socket, port));
  if (listening.length === 0) {
    return 'a program outside this network namespace, such as a container with a published port, or a forwarding';
  }
  const links = new Set(listening.map(({ link }) => link));
  const pids = processIds().filter((pid) => [...descriptorsOf(pid)].some((link) => links.has(link)));
  const [first, ...others] = pids;
  if (first === undefined) return `a program of ${userName(listening[0]?.uid)}, whose name this user may not see`;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${programName(first)} (pid ${first}${more})`;
}

function listensAt({ local, localAddress, state }: KernelSocket, port: number): boolean {
  return state === LISTEN && portOfEnd(local) === port && REACHED_BY_LOOPBACK.has(localAddress);
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
