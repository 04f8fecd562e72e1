/**
 * Memory that a connection keeps in a worker, from several measurements. V8 counts its heap and external memory to the byte. Native memory
 * (addons, OpenSSL, libuv) is in the heap of `malloc`, or else shown by RSS alone, with the noise of pages.
 */
import type { Slope } from '../../protocol/result/memory-schema.ts';

/** Half a 95 % interval, in standard errors. */
const STANDARD_ERRORS = 1.96;
/** Share of what V8 counts: free room between objects of its pages, and in allocators. It grows with the connections. */
const SLACK = 0.1;
/**
 * Pages that a process takes once, for its first thousand connections, and keeps. Measured with Node 24: RSS rises by 1.0 to 1.5 MB more
 * than V8's count and `malloc` (`npm run calibrate -- --only native-memory`).
 */
const ONCE_BYTES = 1.5 * 1024 ** 2;

type Slopes = Record<string, Slope>;

/** All memory of a worker per connection, from one measurement beside V8's count. */
interface Whole {
  bytes: number;
  low: number;
  high: number;
  /** Standard error of what it shows beyond V8's count. */
  error: number;
}

/**
 * Returns whether RSS shows native memory that no interval can add to V8's count, as both slopes have two readings only.
 * @param kept V8's slope @param slopes of all layers @param connections how many they span
 */
export function isUncounted(kept: Slope, slopes: Slopes, connections: number): boolean {
  const { workerRss: pages } = slopes;
  if (!pages || pages.doubt !== undefined || (kept.low95 !== null && pages.low95 !== null)) return false;
  return byMalloc(kept, slopes) === undefined && pages.slope - kept.slope > allowance(kept, connections);
}

/**
 * Adds native memory to V8's count. The estimate shrinks towards V8's count where noise hides the rest (positive-part estimator of James and
 * Stein, 1961): pages of a server without native memory add no noise.
 * @param kept V8's slope @param slopes of all layers @param connections how many they span
 * @returns the slope with an interval over all, and the bytes of it that V8 does not count
 */
export function withNative(kept: Slope, slopes: Slopes, connections: number): { slope: Slope; native: number } {
  const { slope, low95, high95 } = kept;
  const all = [byMalloc(kept, slopes), byPages(kept, slopes, connections)].filter((whole) => whole !== undefined);
  const [first] = all;
  if (!first) return { slope: kept, native: 0 };
  // RSS also has the memory of other threads and of other allocators.
  const best = all.find(({ low }) => low > Math.max(first.high, high95 ?? slope)) ?? first;
  const beyond = best.bytes - slope;
  const estimate = beyond > 0 ? slope + Math.max(0, beyond - best.error ** 2 / beyond) : slope;
  if (low95 === null || high95 === null) {
    return { slope: { ...kept, slope: estimate }, native: estimate - slope };
  }
  const low = Math.max(low95, ...all.map((whole) => whole.low));
  const high = Math.max(high95, best.high, low);
  const bytes = Math.min(high, Math.max(low, estimate));
  return { slope: { ...kept, slope: bytes, low95: low, high95: high }, native: bytes - slope };
}

/** V8's count, and the growth of the heap of `malloc` without the external memory in it. */
function byMalloc(kept: Slope, { workerMalloc: malloc, workerExternal: external }: Slopes): Whole | undefined {
  if (!malloc || !external || !isUsable(malloc) || malloc.low95 === null || malloc.high95 === null) return undefined;
  const bytes = kept.slope + malloc.slope - external.slope;
  const below = malloc.slope - malloc.low95;
  return {
    bytes,
    low: bytes - Math.hypot(below, kept.slope - (kept.low95 ?? kept.slope)),
    high: bytes + Math.hypot(malloc.high95 - malloc.slope, (kept.high95 ?? kept.slope) - kept.slope),
    error: below / STANDARD_ERRORS,
  };
}

function byPages(kept: Slope, { workerRss: pages }: Slopes, connections: number): Whole | undefined {
  if (!pages || !isUsable(pages) || pages.low95 === null || pages.high95 === null || kept.low95 === null)
    return undefined;
  const { slope: bytes, low95, high95 } = pages;
  const error = Math.hypot(high95 - bytes, kept.slope - kept.low95) / STANDARD_ERRORS;
  return { bytes, low: low95 - allowance(kept, connections), high: high95, error };
}

function isUsable({ doubt }: Slope): boolean {
  return doubt === undefined || doubt === 'curved';
}

/** Growth of RSS per connection that is no native memory. */
function allowance(kept: Slope, connections: number): number {
  return SLACK * Math.max(0, kept.slope) + ONCE_BYTES / connections;
}
