/**
 * Memory that a connection keeps in a worker, from two measurements. V8 counts its heap and external memory to the byte. RSS also has
 * native memory (addons, OpenSSL, libuv), with the noise of pages. Each alone excludes memory that the other shows.
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

/**
 * Returns whether RSS shows native memory that no interval can add to V8's count, as both slopes have two readings only.
 * @param kept V8's slope @param pages slope of RSS @param connections how many the slopes span
 */
export function isUncounted(kept: Slope, pages: Slope | undefined, connections: number): boolean {
  if (!pages || pages.doubt !== undefined || (kept.low95 !== null && pages.low95 !== null)) return false;
  return pages.slope - kept.slope > SLACK * Math.max(0, kept.slope) + ONCE_BYTES / connections;
}

/**
 * Adds native memory to V8's count. The estimate shrinks towards V8's count where the noise of RSS hides the rest (positive-part
 * estimator of James and Stein, 1961): RSS of a server without native memory adds no noise.
 * @param kept V8's slope @param pages slope of RSS @param connections how many the slopes span
 * @returns the slope with an interval over both, and the bytes of it that V8 does not count
 */
export function withNative(
  kept: Slope,
  pages: Slope | undefined,
  connections: number,
): { slope: Slope; native: number } {
  const { slope, low95, high95 } = kept;
  const isUnknown = pages === undefined || (pages.doubt !== undefined && pages.doubt !== 'curved');
  if (isUnknown || low95 === null || high95 === null || pages.low95 === null || pages.high95 === null) {
    return { slope: kept, native: 0 };
  }
  const beyond = pages.slope - slope;
  const error = Math.hypot(pages.high95 - pages.slope, slope - low95) / STANDARD_ERRORS;
  const estimate = beyond > 0 ? slope + Math.max(0, beyond - error ** 2 / beyond) : slope;
  const low = Math.max(low95, pages.low95 - SLACK * Math.max(0, slope) - ONCE_BYTES / connections);
  const high = Math.max(high95, pages.high95);
  const bytes = Math.min(high, Math.max(low, estimate));
  return { slope: { ...kept, slope: bytes, low95: low, high95: high }, native: bytes - slope };
}
