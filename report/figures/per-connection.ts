/**
 * Computes the headline figure of a run: memory per connection at rest (after a garbage collection) in the deployment's
 * workers, proxy and kernel sockets.
 */
import { PROXY_LAYER_NAMES } from '../../protocol/documents/named-layers.ts';
import type { MemoryPerConnection, MemorySlope } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { sum } from '../statistics/statistics.ts';
import { isNarrowInterval, MAX_HALF_WIDTH_SHARE, whySlopeNotQuoted } from '../statistics/straightness.ts';
import { mainWorkerLayer, PAGE_NOISE_BYTES } from './layers.ts';
import { addNativeMemory, mayHaveNativeMemory } from './native-memory.ts';

export type CostSources = Pick<Result, 'memory' | 'run' | 'connections'> & Partial<Pick<Result, 'cpu' | 'processes'>>;
type Part = MemoryPerConnection['parts'][number];

/**
 * Number of kernel sockets per connection if both ends of the connection are on one machine: in total, and of the
 * deployment.
 */
const SOCKETS = { proxied: { all: 4, ofDeployment: 3 }, direct: { all: 2, ofDeployment: 1 } };
/**
 * Minimum share of the memory per connection that child processes of the workers must use. From this share on, the
 * headline figure counts the pages of all worker processes.
 */
const MIN_CHILDREN_SHARE = 0.05;

/**
 * Memory figures of the proxy, in order of preference. RSS comes first, because PSS changes when another process that
 * shares pages starts or ends.
 */
const PROXY_LAYERS = PROXY_LAYER_NAMES.flatMap((name) => [`${name}Rss`, `${name}Pss`, `${name}Pools`]);

/** Memory per connection of a lean server, in bytes. A larger run is suggested only if it could measure this amount. */
const LEAST_COST_BYTES = 10 * 1024;

/** Factor by which more connections are suggested if the slope of memory is zero or negative. */
const MORE_CONNECTIONS = 2;

/** Returns the memory per connection; null if the workers' memory was not read at several numbers of connections. */
export function memoryPerConnection(result: CostSources): MemoryPerConnection | null {
  const { memory, run, connections } = result;
  const all = [workers(memory, connections.peak), proxy(memory), kernel(memory, run.profile)].filter(
    (part) => part !== undefined,
  );
  if (all[0]?.title !== 'workers') return null;
  // The intervals of the parts already include other doubts (reasons to distrust a figure).
  const miscounted = all.filter(({ doubt }) => doubt === 'miscounted');
  const { parts, noisy } = withoutNoise(all.filter((part) => !miscounted.includes(part)));
  const without: MemoryPerConnection['without'] = [
    ...miscounted.map(({ title }) => ({ title, doubt: 'miscounted' as const })),
    ...noisy.map(({ title }) => ({ title, doubt: 'noisy' as const })),
    ...(hasUncounted(memory, all[0], connections.peak) ? [NATIVE] : []),
  ];
  const isAtLeast = without.length > 0;
  const inService = parts.map((part) => part.inService);
  const bytes = parts.length > 0 ? sum(parts.map((part) => part.bytes)) : null;
  const interval = bytes === null ? null : intervalOf(bytes, parts);
  return {
    bytes,
    low95: interval?.low95 ?? null,
    high95: interval?.high95 ?? null,
    isAtLeast,
    parts,
    without,
    unread: unreadParts(all, result),
    inService: isAtLeast || inService.includes(null) ? null : sum(inService.map((one) => one ?? 0)),
    conclusiveRun:
      bytes === null || interval === null || !memory.collected || growsWithConnections(all[0], connections.peak)
        ? null
        : conclusiveRun(bytes, interval, connections.peak),
  };
}

const NATIVE = { title: 'native memory', doubt: 'uncounted' } as const;

/** Returns whether the workers' part of the headline figure is only V8's count although RSS shows more. */
function hasUncounted(memory: Result['memory'], { layer }: Part, peak: number): boolean {
  const { perConnectionBytes } = memory;
  const { workerKept: kept } = perConnectionBytes;
  return (
    isV8(memory) && layer === 'workerKept' && kept !== undefined && mayHaveNativeMemory(kept, perConnectionBytes, peak)
  );
}

/**
 * Returns whether the workers' runtime is V8. JVM and Go keep the pages of their heaps, so their RSS includes garbage
 * even after a collection.
 */
function isV8({ inspector }: Result['memory']): boolean {
  return inspector === undefined || inspector.runtime === 'v8';
}

function pagesLayer(slopes: Record<string, MemorySlope>): string {
  return slopes.workerRss ? 'workerRss' : mainWorkerLayer(slopes);
}

/** Returns the parts of the deployment whose memory the run could not read, such as kernel memory without root. */
function unreadParts(read: Part[], { memory, cpu = {}, processes }: CostSources): MemoryPerConnection['unread'] {
  const isMissing = (title: Part['title']) => read.every((part) => part.title !== title);
  const isProxied = PROXY_LAYER_NAMES.some(
    (name) => name in cpu || processes?.measured.some(({ layer }) => layer === name),
  );
  return [
    ...(isProxied && isMissing('proxy') ? ['proxy' as const] : []),
    ...('kernelSlab' in memory.absent && isMissing('kernel') ? ['kernel' as const] : []),
  ];
}

/** Returns whether the memory per connection is a number or a lower bound. Otherwise, only its interval is shown. */
export function isConclusiveCost(cost: MemoryPerConnection): cost is MemoryPerConnection & { bytes: number } {
  const { bytes, low95, high95 } = cost;
  return bytes !== null && (low95 === null || high95 === null || isNarrowInterval(bytes, high95 - low95));
}

function workers(memory: Result['memory'], peak: number): Part | undefined {
  const { perConnectionBytes, collected } = memory;
  const layer = pagesLayer(perConnectionBytes);
  const [pages, kept] = [perConnectionBytes[layer], perConnectionBytes.workerKept];
  // Without a forced collection, the heap includes garbage.
  const children = perConnectionBytes.workerChildrenPss;
  const hasBusyChild =
    children && kept && whySlopeNotQuoted(children) === undefined && children.slope > MIN_CHILDREN_SHARE * kept.slope;
  const growsBeside = isV8(memory) && pages?.doubt === 'grows' && kept?.doubt === undefined;
  if (collected && kept && !hasBusyChild && !growsBeside) {
    const { slope, native } = addNativeMemory(kept, isV8(memory) ? perConnectionBytes : {}, peak);
    const part = partOf(memory, 'workers', 'workerKept', slope, { needed: layer });
    return native > 0 ? { ...part, native } : part;
  }
  if (!pages) return undefined;
  return partOf(memory, 'workers', layer, collected ? pages : withHeap(pages, perConnectionBytes.workerHeapUsed));
}

/**
 * Extends the interval of RSS to include the heap. Without forced garbage collections, the heap can grow within free
 * pages, so RSS grows by less.
 */
function withHeap(pages: MemorySlope, heap: MemorySlope | undefined): MemorySlope {
  if (!heap || pages.high95 === null || heap.high95 === null || heap.slope <= pages.slope) return pages;
  return { ...pages, high95: Math.max(pages.high95, heap.high95) };
}

function proxy(memory: Result['memory']): Part | undefined {
  const { perConnectionBytes } = memory;
  const layer = PROXY_LAYERS.find((id) => id in perConnectionBytes);
  const slope = perConnectionBytes[layer ?? ''];
  return layer !== undefined && slope ? partOf(memory, 'proxy', layer, slope) : undefined;
}

/**
 * Returns the kernel's part of the memory per connection; undefined if the kernel's memory could not be read. The
 * kernel's figures come from the generator's machine, and count only if that machine has both ends of the connections.
 */
function kernel(memory: Result['memory'], profile: Result['run']['profile']): Part | undefined {
  const slope = memory.perConnectionBytes.kernelSlab;
  if (!slope) return undefined;
  const isProxied = profile === 'full' || (profile === 'remote' && proxy(memory) !== undefined);
  const { all, ofDeployment } = SOCKETS[isProxied ? 'proxied' : 'direct'];
  return partOf(memory, 'kernel', 'kernelSlab', slope, { share: ofDeployment / all });
}

/**
 * @param how `share`: share of the bytes that belongs to the deployment; `needed`: memory figure of the layer in
 * service (pages, with garbage and buffers)
 */
function partOf(
  { inService }: Result['memory'],
  title: Part['title'],
  layer: string,
  slope: MemorySlope,
  { share = 1, needed = layer } = {},
): Part {
  const inUse = inService?.perConnectionBytes[needed];
  const { low95, high95, doubt } = slope;
  return {
    ...{ title, layer, bytes: share * slope.slope },
    low95: low95 === null ? null : share * low95,
    high95: high95 === null ? null : share * high95,
    ...(doubt !== undefined && doubt !== 'curved' && { doubt }),
    // Memory in service is a single observation with garbage. It cannot be below the memory at rest.
    inService: inUse && inUse.doubt === undefined ? share * Math.max(inUse.slope, slope.slope) : null,
  };
}

/**
 * Drops the kernel's part if only its noise makes the interval of the headline figure too wide. Other programs' files
 * and sockets also use kernel memory.
 */
function withoutNoise(parts: Part[]): { parts: Part[]; noisy: Part[] } {
  const processes = parts.filter(({ title }) => title !== 'kernel');
  const isNoisy = !isNarrowSum(parts) && processes.length > 0 && isNarrowSum(processes);
  return isNoisy ? { parts: processes, noisy: parts.filter(({ title }) => title === 'kernel') } : { parts, noisy: [] };
}

function isNarrowSum(parts: Part[]): boolean {
  const bytes = sum(parts.map((part) => part.bytes));
  const interval = intervalOf(bytes, parts);
  return interval === null || isNarrowInterval(bytes, interval.high95 - interval.low95);
}

interface CostInterval {
  low95: number;
  high95: number;
  /** Half-width of the interval, before the interval is cut at 0. */
  halfWidth: number;
}

/** Combines the independent errors of the parts into one interval. The interval is cut at 0. */
function intervalOf(bytes: number, parts: Part[]): CostInterval | null {
  if (parts.some(({ low95 }) => low95 === null)) return null;
  const below = Math.hypot(...parts.map((part) => part.bytes - (part.low95 ?? 0)));
  const above = Math.hypot(...parts.map((part) => (part.high95 ?? 0) - part.bytes));
  return { low95: Math.max(0, bytes - below), high95: Math.max(0, bytes + above), halfWidth: (below + above) / 2 };
}

/**
 * Returns whether the interval of the part grows with the connections. This happens if memory outside V8's count, such
 * as garbage of worker threads, widens it.
 */
function growsWithConnections({ layer, low95, high95 }: Part, peak: number): boolean {
  if (layer !== 'workerKept' || low95 === null || high95 === null) return false;
  return ((high95 - low95) / 2) * peak > PAGE_NOISE_BYTES;
}

/**
 * Returns the number of connections with which the interval would be narrow enough. Assumes that the noise stays
 * constant.
 */
function conclusiveRun(
  bytes: number,
  { low95, high95, halfWidth }: CostInterval,
  connections: number,
): MemoryPerConnection['conclusiveRun'] {
  if (isNarrowInterval(bytes, high95 - low95)) return null;
  const wanted = MAX_HALF_WIDTH_SHARE * Math.max(bytes, LEAST_COST_BYTES);
  const enough = roundUpOneDigit(connections * Math.max(MORE_CONNECTIONS, halfWidth / wanted));
  return { connections: enough, halfWidthBytes: (halfWidth * connections) / enough };
}

/** Rounds a number of connections up to one significant digit. */
export function roundUpOneDigit(connections: number): number {
  const digit = 10 ** Math.floor(Math.log10(connections));
  return Math.ceil(connections / digit) * digit;
}
