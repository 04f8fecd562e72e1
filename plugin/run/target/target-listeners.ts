/** Finds processes of this machine that listen on the target or hold its connections. */
import { hostname as machineName, networkInterfaces } from 'node:os';
import { isLoopback } from '../../../protocol/base/machine/loopback.ts';
import { findListeners, parseKernelAddress } from '../../../protocol/base/machine/sockets.ts';
import { onlyOnce } from '../../../protocol/base/only-once.ts';
import { isTlsUrl } from '../../../protocol/wire/http-agent.ts';
import {
  type ConnectionHolding,
  connectionHoldingsOf,
  isInspectable,
  listenersOn,
  printableCommandOf,
  readProcessTable,
  suggestProcessQuery,
  withDescendants,
} from '../../samplers/index.ts';
import { isTemplate } from '../../script/is-template.ts';

/** Listening processes in the format of the option `workers`. */
export type ListeningProcesses = ({ match: string } | { pids: number[] }) & { inspect?: true };

/**
 * Finds the processes that listen on the target's port, such as a proxy that is not configured. The search runs only
 * once, because reading the open files of all processes takes long when there are many connections.
 * @returns empty if the target is on another machine; undefined if unknown
 */
export function targetListeners(url: string): () => Promise<number[] | undefined> {
  const pids = onlyOnce(() => listenersOn(portOfUrl(url)));
  return async () => (isThisMachine(url) ? pids() : []);
}

/**
 * Returns a value for the option `workers` that selects the server's processes, if possible a pattern that still
 * matches after a restart; undefined if no process listens on this machine, or if a proxy does.
 */
export async function listeningProcesses(url: string): Promise<ListeningProcesses | undefined> {
  const pids = (await targetListeners(url)()) ?? [];
  const query = suggestProcessQuery(pids);
  // Skips a command line that Artillery would take for a template.
  if (!query || isTemplate(query)) return undefined;
  const areInspectable = (await Promise.all(pids.map(isInspectable))).every(Boolean);
  return areInspectable ? { ...query, inspect: true } : query;
}

/**
 * Returns the processes of this machine behind the target's proxies that hold its connections; undefined unless the run
 * can read all of them.
 */
export async function connectionHolders(url: string): Promise<(ConnectionHolding & { command: string })[] | undefined> {
  if (!isThisMachine(url)) return undefined;
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const candidates = [...table.keys()].filter((pid) => !own.has(pid));
  const servers = (await connectionHoldingsOf(candidates, portOfUrl(url)))?.at(-1);
  if (!servers || servers.some(({ passesOn }) => passesOn)) return undefined;
  return servers.map((server) => ({ ...server, command: printableCommandOf(server.pid) }));
}

/** Returns whether the URL names a loopback address, or an address or the name of this machine. */
export function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  return isLoopback(hostname) || addresses.includes(bare) || bare === machineName();
}

/**
 * Returns the addresses of this machine at which a server listens on the target's port, as written in a URL; empty if
 * the target is on another machine.
 */
export async function listeningHosts(url: string): Promise<string[]> {
  const { sockets = [] } = (isThisMachine(url) && (await findListeners(portOfUrl(url)))) || {};
  return [...new Set(sockets.map(({ localAddress }) => parseKernelAddress(localAddress)))];
}

export function portOfUrl(url: string): number {
  const { port } = new URL(url);
  return Number(port) || (isTlsUrl(url) ? 443 : 80);
}
