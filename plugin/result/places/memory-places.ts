/** Finds the packages and functions whose memory a connection keeps in the workers, or leaves behind in them. */

import type { V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { MemoryCodePlaces } from '../../../protocol/result/places-schema.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { codePlaceRows, compareLargestFirst, packageOfUrl } from './place-rows.ts';

type Measured = Pick<Measurements, 'heapProfiles' | 'plateaus'> & Partial<Pick<Measurements, 'overTime'>>;

/**
 * Returns the workers' memory by package and function; undefined without profiles, without connections, or without V8's
 * exact memory figures.
 */
export function memoryCodePlaces(measured: Measured): MemoryCodePlaces | undefined {
  const { heapProfiles } = measured;
  const ends = endsOf(measured);
  if (!heapProfiles || heapProfiles instanceof Error || heapProfiles.length === 0 || !ends) return undefined;
  const { first, last, connections } = ends;
  const growth = (figure: string) =>
    ((last.layers[figure] ?? Number.NaN) - (first.layers[figure] ?? Number.NaN)) / connections;
  const [growthBytes, externalBytes] = [growth('workerKept'), growth('workerExternal')];
  if (!Number.isFinite(growthBytes) || !Number.isFinite(externalBytes)) return undefined;
  const { packages, functions } = codePlaceRows(heapProfiles, connections);
  const external = { name: 'external', value: externalBytes, halfWidth95: 0 };
  const all = [...packages, external].toSorted(compareLargestFirst);
  return {
    connections,
    ...(measured.overTime && { leftBehind: true }),
    growthBytes,
    packages: all.map(({ value, ...row }) => ({ ...row, bytes: value })),
    functions: functions.map(({ value, ...row }) => ({ ...row, bytes: value })),
    savings: knownSavings(heapProfiles, connections, externalBytes),
    unattributedBytes: growthBytes - all.reduce((sum, { value }) => sum + value, 0),
  };
}

/**
 * Returns the first and the last memory reading of the profiled time, and the number of connections that opened, or
 * opened and closed, between them.
 */
function endsOf({ plateaus, overTime }: Measured) {
  if (overTime) {
    const [first, last] = [overTime.readings.rows[0], overTime.readings.rows.at(-1)];
    const connections = (last?.gone ?? 0) - (first?.gone ?? 0);
    return overTime.kind === 'waves' && first && last && connections > 0 ? { first, last, connections } : undefined;
  }
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  return first && last && { first, last, connections: last.connections };
}

type Node = V8Profile['nodes'][number];
type Saving = NonNullable<MemoryCodePlaces['savings']>[number];

/** Minimum saving in bytes. A smaller saving is within the sampling error or useless. */
const LEAST_BYTES = 512;
const DOCS = 'https://socket.io/docs/v4';

/**
 * Returns savings that Socket.IO's documentation recommends, with the estimated saving on this server.
 * @param profiles heap profiles
 * @param externalBytes external memory per connection, which includes the buffers of compression
 * @returns the savings, the largest first
 */
function knownSavings(profiles: V8Profile[], connections: number, externalBytes: number): Saving[] {
  const sum = (isPart: (callers: Node[]) => boolean) =>
    profiles.reduce((total, { nodes }) => total + sumOf(nodes, isPart), 0) / connections;
  const deflate = sum((callers) => callers.some(({ url }) => url.includes('/permessage-deflate')));
  const all: Saving[] = [
    { name: 'first-request', bytes: sum(isOfRequest), url: `${DOCS}/memory-usage/` },
    {
      name: 'compression',
      bytes: deflate < LEAST_BYTES ? 0 : deflate + Math.max(0, externalBytes),
      url: `${DOCS}/server-options/#permessagedeflate`,
    },
    { name: 'ws', bytes: sum(isOfWs), url: `${DOCS}/memory-usage/` },
  ];
  return all.filter(({ bytes }) => bytes >= LEAST_BYTES).toSorted((a, b) => b.bytes - a.bytes);
}

/**
 * Returns whether the memory belongs to the first HTTP request of a connection, which Engine.IO keeps. A listener of
 * Engine.IO makes V8 store the request's properties in a dictionary.
 */
function isOfRequest(callers: Node[]): boolean {
  const [own, by, above] = callers;
  const isListener = own?.name === '' && packageOfUrl(own.url) === 'engine.io';
  if (isListener && by?.name === 'emit' && above?.name === 'completeUpgrade') return true;
  return callers.some(({ name, url }) => name === 'parserOnHeadersComplete' && url.startsWith('node:'));
}

/** Returns whether `ws`, or Node on behalf of `ws`, allocated the memory, and not for compression. */
function isOfWs(callers: Node[]): boolean {
  const nearest = callers.find(({ url }) => url !== '' && !url.startsWith('node:'));
  return nearest !== undefined && packageOfUrl(nearest.url) === 'ws' && !nearest.url.includes('/permessage-deflate');
}

/**
 * Sums the memory of the nodes for which `isPart` returns true.
 * @param isPart receives a node and its callers, the nearest caller first
 */
function sumOf(nodes: Node[], isPart: (callers: Node[]) => boolean): number {
  const callersOf = (index: number) => {
    const callers: Node[] = [];
    for (let node = nodes[index]; node; node = nodes[node.parent]) callers.push(node);
    return callers;
  };
  return nodes.reduce((sum, { self }, index) => sum + (self > 0 && isPart(callersOf(index)) ? self : 0), 0);
}
