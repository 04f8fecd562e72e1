/** Measures CPU while connections open: over a whole ramp, and over its parts, whose spread is the noise. */
import type { RampWindow } from '../measurements/measured-windows.ts';
import { mark, type WindowContext, Windows, windowSince } from './cpu-window.ts';

/** Shorter parts would have too few of the kernel's CPU ticks. */
const MIN_PART_SECONDS = 1;
const PARTS = 20;

type RampContext = WindowContext & { signal: AbortSignal };

/** @param seconds expected length of the ramp, which determines the length of its parts */
export async function beginRampWindow(context: RampContext, seconds: number): Promise<{ end(): Promise<RampWindow> }> {
  const { population, signal } = context;
  const before = { ...population.made() };
  const begin = await mark(context);
  const windows = new Windows(context, () => population.made().opened);
  const timer = setInterval(() => void windows.next(), 1000 * Math.max(MIN_PART_SECONDS, seconds / PARTS));
  timer.unref();
  const stop = () => clearInterval(timer);
  signal.addEventListener('abort', stop, { once: true });
  return {
    end: async () => {
      stop();
      signal.removeEventListener('abort', stop);
      const { opened, failedAttempts } = { ...population.made() };
      const parts = await windows.end();
      const whole = await windowSince(context, begin, opened - before.opened);
      return { ...whole, parts, failedAttempts: failedAttempts - before.failedAttempts };
    },
  };
}
