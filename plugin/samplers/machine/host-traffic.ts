/**
 * Reads the traffic between the workers' hosts and Redis. A host is a network namespace of this machine, such as a
 * container. Its interface to Redis must not carry the load as well.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { isThisHost } from '../../../protocol/base/machine/this-host.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { HostTraffic } from '../../../protocol/result/redis-schema.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';

type Worker = Pick<WorkerStats, 'worker' | 'pid'> & Partial<Pick<WorkerStats, 'host'>>;

/**
 * Reads the counters of each host.
 * @param urls URLs of the workers' control ports, in the order of the workers
 * @returns undefined if a worker is not on this machine, or if its interface to Redis is also the one to its control
 * port
 */
export function readHostTraffic(workers: Worker[], urls: string[], redisUrl: string): HostTraffic[] | undefined {
  if (workers.length === 0 || !workers.every(({ host }) => host && isThisHost(host))) return undefined;
  const found = workers.map(({ worker, pid }, index) =>
    tryOrUndefined(() => {
      const routes = readFileSync(`/proc/${pid}/net/route`, 'utf8');
      const [toRedis, toControl] = [redisUrl, urls[index] ?? ''].map((url) => interfaceTo(hostOf(url), routes));
      if (toRedis === undefined || toControl === undefined || toRedis === toControl) return undefined;
      const namespace = readlinkSync(`/proc/${pid}/ns/net`);
      return { worker, namespace, ...countersOf(toRedis, readFileSync(`/proc/${pid}/net/dev`, 'utf8')) };
    }),
  );
  const known = found.filter((one) => one !== undefined);
  if (known.length < workers.length) return undefined;
  return [...Map.groupBy(known, ({ namespace }) => namespace).values()].map((ofHost) => {
    const { worker: _, namespace: __, ...counters } = ofHost[0] as (typeof known)[number];
    return { workers: ofHost.map(({ worker }) => worker), ...counters };
  });
}

function hostOf(url: string): string {
  return new URL(url).hostname;
}

/**
 * Returns the interface of the most specific route to an address.
 * @param address IPv4 address; other addresses have no result
 * @param routes text of `/proc/<pid>/net/route`
 */
export function interfaceTo(address: string, routes: string): string | undefined {
  if (!isIPv4(address)) return undefined;
  // The kernel writes addresses and masks as hexadecimal numbers in the byte order of the machine.
  const target = Buffer.from(address.split('.').map(Number)).readUInt32LE();
  const rows = routes.split('\n').slice(1);
  const matching = rows.flatMap((row) => {
    const [name = '', destination = '', , , , , , mask = ''] = row.split(/\s+/);
    const bits = Number.parseInt(mask, 16);
    return (target & bits) >>> 0 === Number.parseInt(destination, 16) ? { name, bits } : [];
  });
  // In this byte order, a longer prefix has a larger mask.
  return matching.toSorted((a, b) => b.bits - a.bits)[0]?.name;
}

/**
 * Returns the counters of an interface.
 * @param text content of `/proc/<pid>/net/dev`
 * @throws Error if the interface is missing
 */
export function countersOf(name: string, text: string): Omit<HostTraffic, 'workers'> {
  const row = text.split('\n').find((line) => line.trimStart().startsWith(`${name}:`));
  const [inBytes, inPackets, , , , , , , outBytes, outPackets] = (row?.split(':')[1] ?? '')
    .trim()
    .split(/\s+/)
    .map(Number);
  if (inBytes === undefined || inPackets === undefined || outBytes === undefined || outPackets === undefined)
    throw new Error(`no counters of ${name}`);
  return { inBytes, inPackets, outBytes, outPackets };
}
