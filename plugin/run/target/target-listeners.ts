/** Processes that listen on the target, on this machine. */
import { hostname as machineName, networkInterfaces } from 'node:os';
import { isLoopback } from '../../../protocol/base/machine/loopback.ts';
import { findListeners } from '../../../protocol/base/machine/port-listeners.ts';
import { hostOf } from '../../../protocol/base/machine/sockets.ts';
import { onlyOnce } from '../../../protocol/base/only-once.ts';
import { speaksTls } from '../../../protocol/wire/http-agent.ts';
import {
  type Holding,
  holdingsOf,
  isInspectable,
  listenersOn,
  queryFor,
  readProcessTable,
  shownCommand,
  withDescendants,
} from '../../samplers/index.ts';
import { isTemplate } from '../../script/is-template.ts';

/** As the option `workers` names them. */
export type ListeningProcesses = ({ match: string } | { pids: number[] }) & { inspect?: true };

/**
 * Such as a proxy of which nothing else tells. They are looked for once: to look through the open files of all processes takes
 * long once there are connections.
 * @returns none if the target is elsewhere; undefined if they are not known
 */
export function listenersOf(url: string): () => Promise<number[] | undefined> {
  const pids = onlyOnce(() => listenersOn(portOf(url)));
  return async () => (isThisMachine(url) ? pids() : []);
}

/** @returns the server's processes, by what survives a restart if they have it; undefined if nothing, or a proxy, listens here */
export async function listeningProcesses(url: string): Promise<ListeningProcesses | undefined> {
  const pids = (await listenersOf(url)()) ?? [];
  const query = queryFor(pids);
  // Artillery would fill it in.
  if (!query || isTemplate(query)) return undefined;
  return pids.every(isInspectable) ? { ...query, inspect: true } : query;
}

/** @returns processes of this machine that hold the connections to the target, behind its proxies; undefined unless all can be seen */
export async function connectionHolders(url: string): Promise<(Holding & { command: string })[] | undefined> {
  if (!isThisMachine(url)) return undefined;
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const others = [...table.keys()].filter((pid) => !own.has(pid));
  const servers = (await holdingsOf(others, portOf(url)))?.at(-1);
  if (!servers || servers.some(({ passesOn }) => passesOn)) return undefined;
  return servers.map((one) => ({ ...one, command: shownCommand(one.pid) }));
}

/** @returns whether the URL names a loopback address, or an address or the name of this machine */
export function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  return isLoopback(hostname) || addresses.includes(bare) || bare === machineName();
}

/** @returns addresses of this machine at which a server listens on the port of the target, as in a URL; none if it is elsewhere */
export async function listeningHosts(url: string): Promise<string[]> {
  const { sockets = [] } = (isThisMachine(url) && (await findListeners(portOf(url)))) || {};
  return [...new Set(sockets.map(({ localAddress }) => hostOf(localAddress)))];
}

export function portOf(url: string): number {
  const { port } = new URL(url);
  return Number(port) || (speaksTls(url) ? 443 : 80);
}
