/**
 * Clock of the wire contract: CLOCK_MONOTONIC in microseconds. All processes of a host share it, and NTP cannot set it.
 * `performance.now()` is several times faster than `process.hrtime.bigint()`, but it starts at 0 in each thread.
 * Therefore, this module measures the offset between the two when it is loaded.
 */
const offsetUs = measureOffsetUs();

/** Returns microseconds since boot, rounded down. */
export function monotonicUs(): number {
  return Math.floor(performance.now() * 1000 + offsetUs);
}

/**
 * Measures the offset between `performance.now()` and `process.hrtime.bigint()`. One clock is read between two readings
 * of the other. The narrowest of several attempts is used, so that a preemption does not change the offset.
 */
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

/** Reading of another clock: its offset from this process's clock, and the maximum error. */
export interface ClockReading {
  /** Time of the reading on this process's clock: the middle of the round trip. */
  atUs: number;
  offsetUs: number;
  /** Maximum error of the offset: half of the round trip. */
  uncertaintyUs: number;
}

/**
 * Reads another clock by a round trip.
 * @param ask performs the round trip
 * @throws errors of `ask`
 */
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

/** Adds a reading of another clock. If the reading fails, it is ignored. */
export async function addClockReading(clock: Readings, read: () => Promise<ClockReading>): Promise<void> {
  try {
    clock.add(await read());
  } catch {}
}

/**
 * Reads another clock periodically.
 * @returns a function that stops the readings
 */
export function followClock(clock: Readings, read: () => Promise<ClockReading>, intervalMs: number): () => void {
  const timer = setInterval(() => void addClockReading(clock, read), intervalMs);
  return () => clearInterval(timer);
}
