/**
 * CLOCK_MONOTONIC in microseconds, the clock of the wire contract: all processes of a host share it, and NTP cannot step it.
 * `performance.now()` is several times faster than `process.hrtime.bigint()`, but starts at 0 in each thread, so its offset is measured
 * when this module loads.
 */
const offsetUs = measureOffsetUs();

/** Returns microseconds since boot, rounded down. */
export function monotonicUs(): number {
  return Math.floor(performance.now() * 1000 + offsetUs);
}

/** Measures the offset. Uses the narrowest of several brackets around a reading, so that a preemption does not shift the clock. */
function measureOffsetUs(): number {
  let best = { widthNs: Number.POSITIVE_INFINITY, offsetUs: 0 };
  for (let attempt = 0; attempt < 20; attempt++) {
    const beforeNs = process.hrtime.bigint();
    const nowMs = performance.now();
    const afterNs = process.hrtime.bigint();
    const widthNs = Number(afterNs - beforeNs);
    if (widthNs < best.widthNs) best = { widthNs, offsetUs: Number(beforeNs + afterNs) / 2000 - nowMs * 1000 };
  }
  return best.offsetUs;
}
