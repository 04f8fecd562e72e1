/** Reading the monotonic clock of another process by round trips. */
import { monotonicUs } from './clock.ts';

/** How far the other clock is ahead of ours, and the largest possible error of that. */
export interface ClockReading {
  /** When it was read, on our clock: the middle of the round trip. */
  atUs: number;
  offsetUs: number;
  /** Half of the round trip. */
  uncertaintyUs: number;
}

/** @param ask one round trip. @throws whatever it throws */
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

/** A reading that fails is none. Does not reject. */
export async function addReading(clock: Readings, read: () => Promise<ClockReading>): Promise<void> {
  try {
    clock.add(await read());
  } catch {
    // The next one comes soon.
  }
}

/** Reads it again and again. @returns a function that stops it */
export function followClock(clock: Readings, read: () => Promise<ClockReading>, intervalMs: number): () => void {
  const timer = setInterval(() => void addReading(clock, read), intervalMs);
  return () => clearInterval(timer);
}
