/** Finds the processes of this machine that listen on TCP ports, as far as the user of the run may see them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import {
  descriptorTargets,
  findListeners,
  LISTEN,
  parseKernelPort,
  parseSockets,
} from '../../../protocol/base/machine/sockets.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { readProcessTable, withDescendants } from './process-table.ts';

/** The processes that listen on a port, or the reason why they are not visible. */
export type PortListeners = { pids: number[] } | { unseen: string };

/**
 * Pattern of the names of programs that listen on a port in place of a container. Another process in the container
 * answers.
 */
const FOR_CONTAINERS = /^(docker-proxy|rootlessport|slirp4netns|pasta)/;
/** Pid of init. It is the ancestor of every process, and opens sockets for services. */
const INIT = 1;

/** Returns the processes that listen on the port, except the generator's own. */
export async function findPortListeners(port: number): Promise<PortListeners> {
  const listeners = await findListeners(port);
  if (!listeners) return { unseen: 'only Linux lists the sockets of processes' };
  if (listeners.sockets.length === 0) return { unseen: `no process of this network namespace listens on port ${port}` };
  if (!listeners.areAllSeen) return { unseen: `the listener on port ${port} belongs to another user or a container` };
  const table = readProcessTable();
  const own = withDescendants([process.pid], table);
  const pids = listeners.pids.filter((pid) => !own.has(pid));
  const forContainers = pids.find((pid) => FOR_CONTAINERS.test(table.get(pid)?.name ?? ''));
  if (forContainers !== undefined)
    return { unseen: `${table.get(forContainers)?.name} listens on port ${port} for a container` };
  if (pids.length === 0) return { unseen: `the generator itself listens on port ${port}` };
  return { pids: pids.length > 1 ? pids.filter((pid) => pid !== INIT) : pids };
}

/** Returns the ids of the processes that listen on the port; undefined if this user cannot see them. */
export async function listenersOn(port: number): Promise<number[] | undefined> {
  const listening = await findPortListeners(port);
  return 'pids' in listening ? listening.pids : undefined;
}

/** Finds the TCP ports on which a process listens, within its network namespace. */
export class ListeningPorts {
  readonly #byNamespace = new Map<string, Map<string, number>>();

  /**
   * Returns the sorted ports of a process; undefined if its open files cannot be read, for example because it belongs
   * to another user.
   */
  of(pid: number): number[] | undefined {
    if (tryOrUndefined(() => readdirSync(`/proc/${pid}/fd`)) === undefined) return undefined;
    const ports = this.#portsIn(pid);
    const found = [...descriptorTargets(pid)].flatMap((link) => ports.get(link) ?? []);
    return [...new Set(found)].sort((a, b) => a - b);
  }

  /** Returns the port of each listening socket in the network namespace of the process, by the socket's link. */
  #portsIn(pid: number): Map<string, number> {
    const namespace = tryOrUndefined(() => readlinkSync(`/proc/${pid}/ns/net`)) ?? '';
    const known = this.#byNamespace.get(namespace);
    if (known) return known;
    const texts = ['tcp', 'tcp6'].map((table) =>
      tryOrUndefined(() => readFileSync(`/proc/${pid}/net/${table}`, 'utf8')),
    );
    const sockets = texts.flatMap((text) => parseSockets(text ?? '')).filter(({ state }) => state === LISTEN);
    const ports = new Map(sockets.map(({ link, local }) => [link, parseKernelPort(local)]));
    this.#byNamespace.set(namespace, ports);
    return ports;
  }
}
