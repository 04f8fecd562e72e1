/**
 * Estimates memory per connection in a worker from several measurements. V8 counts its heap and external memory
 * exactly. `malloc` counts native memory (addons, OpenSSL, libuv). Without a `malloc` count, native memory is estimated
 * from RSS, which has the noise of pages.
 */
import type { MemorySlope } from '../../protocol/result/memory-schema.ts';

/** Half-width of a 95 % interval, in standard errors. */
const STANDARD_ERRORS = 1.96;
/**
 * Allowance for free space in V8's pages and in allocators, as a share of V8's memory count. The free space grows with
 * the connections.
 */
const SLACK = 0.1;
/**
 * Size of the memory pages that a process takes for its first thousand connections and keeps. Measured with Node 24:
 * RSS rises by 1.0 to 1.5 MB more than V8's count and `malloc` (`npm run calibrate -- --only native-memory`).
 */
const ONCE_BYTES = 1.5 * 1024 ** 2;

type Slopes = Record<string, MemorySlope>;

/**
 * Memory of a worker per connection, from V8's count and one other measurement. The ends of the interval are null if
 * the interval is unknown.
 */
interface Whole {
  bytes: number;
  low: number | null;
  high: number | null;
}

/**
 * Returns whether RSS shows native memory, but both slopes have only two readings, so that no interval can be computed.
 * @param kept slope of V8's memory count
 * @param slopes slopes of all memory figures
 * @param connections difference between the largest and the smallest number of connections of the plateaus
 */
export function mayHaveNativeMemory(kept: MemorySlope, slopes: Slopes, connections: number): boolean {
  const { workerRss: pages } = slopes;
  if (!pages || pages.doubt !== undefined || (kept.low95 !== null && pages.low95 !== null)) return false;
  return byMalloc(kept, slopes) === undefined && pages.slope - kept.slope > allowance(kept, connections);
}

/**
 * Adds native memory to V8's memory count.
 * @param kept slope of V8's count
 * @param slopes slopes of all memory figures
 * @param connections difference between the largest and the smallest number of connections of the plateaus
 * @returns the slope with an interval, and the number of native bytes in it
 */
export function addNativeMemory(
  kept: MemorySlope,
  slopes: Slopes,
  connections: number,
): { slope: MemorySlope; native: number } {
  const { slope, low95, high95 } = kept;
  const [malloc, pages] = [byMalloc(kept, slopes), byPages(kept, slopes, connections)];
  // RSS is preferred if it clearly shows more than `malloc`, because it also includes memory of other threads and
  // allocators.
  const isMore = !malloc || (pages && (pages.low ?? 0) > Math.max(malloc.high ?? malloc.bytes, high95 ?? slope));
  const best = isMore ? pages : malloc;
  if (!best) return { slope: kept, native: 0 };
  if (low95 === null || high95 === null || best.low === null || best.high === null)
    return { slope: { ...kept, slope: best.bytes, low95: null, high95: null }, native: best.bytes - slope };
  const low = Math.max(low95, best.low);
  const high = Math.max(high95, best.high, low);
  const bytes = Math.min(high, Math.max(low, best.bytes));
  return { slope: { ...kept, slope: bytes, low95: low, high95: high }, native: bytes - slope };
}

/**
 * Returns V8's count plus native memory as `malloc` counts it. External memory is in both counts and is subtracted
 * once. Large buffers are missing from `malloc`'s heap.
 */
function byMalloc(kept: MemorySlope, { workerMalloc: malloc, workerExternal: external }: Slopes): Whole | undefined {
  if (!malloc || !external || !isUsable(malloc)) return undefined;
  const bytes = kept.slope + Math.max(0, malloc.slope - external.slope);
  if (malloc.low95 === null || malloc.high95 === null || kept.low95 === null || kept.high95 === null)
    return { bytes, low: null, high: null };
  return {
    bytes,
    low: bytes - Math.hypot(malloc.slope - malloc.low95, kept.slope - kept.low95),
    high: bytes + Math.hypot(malloc.high95 - malloc.slope, kept.high95 - kept.slope),
  };
}

/**
 * Returns V8's count plus native memory as RSS shows it. Within the noise, the estimate shrinks towards V8's count
 * (positive-part estimator of James and Stein, 1961). Without native memory, the noise of pages is therefore not added.
 */
function byPages(kept: MemorySlope, { workerRss: pages }: Slopes, connections: number): Whole | undefined {
  if (!pages || !isUsable(pages) || pages.low95 === null || pages.high95 === null || kept.low95 === null)
    return undefined;
  const { slope, low95, high95 } = pages;
  const error = Math.hypot(high95 - slope, kept.slope - kept.low95) / STANDARD_ERRORS;
  const beyond = slope - kept.slope;
  const bytes = beyond > 0 ? kept.slope + Math.max(0, beyond - error ** 2 / beyond) : kept.slope;
  return { bytes, low: low95 - allowance(kept, connections), high: high95 };
}

function isUsable({ doubt }: MemorySlope): boolean {
  return doubt === undefined || doubt === 'curved';
}

/** Growth of RSS per connection that does not indicate native memory. */
function allowance(kept: MemorySlope, connections: number): number {
  return SLACK * Math.max(0, kept.slope) + ONCE_BYTES / connections;
}
