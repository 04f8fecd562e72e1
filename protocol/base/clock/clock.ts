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

/** A reading of another clock: how far it is ahead of this process, and the largest possible error. */
export interface ClockReading {
  /** Time of the reading on our clock: the middle of the round trip. */
  atUs: number;
  offsetUs: number;
  /** Half of the round trip. */
  uncertaintyUs: number;
}

/** @param ask performs a round trip @throws errors of `ask` */
export async function readClock(ask: () => Promise<{ monotonicUs: number }>): Promise<ClockReading> {
  const beforeUs = monotonicUs();
  const { monotonicUs: theirUs } = await ask();
  const afterUs = monotonicUs();
  const atUs = (beforeUs + afterUs) / 2;
  return { atUs, offsetUs: theirUs - atUs, uncertaintyUs: (afterUs - beforeUs) / 2 };
}

interface Readings {
  add(reading: ClockReading): void;
}

/** Adds a reading; ignores a failed one. Never rejects. */
export async function addReading(clock: Readings, read: () => Promise<ClockReading>): Promise<void> {
  try {
    clock.add(await read());
  } catch {
    // Ignored, because the next reading follows soon.
  }
}

/** Reads the clock periodically. @returns a function that stops it */
export function followClock(clock: Readings, read: () => Promise<ClockReading>, intervalMs: number): () => void {
  const timer = setInterval(() => void addReading(clock, read), intervalMs);
  return () => clearInterval(timer);
}
