/** Reads the monotonic clock of another process by round trips. */
import { monotonicUs } from './clock.ts';

/** A reading of another clock: how far it is ahead of ours, and the largest possible error. */
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
