/** What is required of any other program's answer: that it comes in time, and that its figures can be. */

/** Bytes, times and counts; a kernel writes "no limit" as a larger one. */
export const LARGEST_FIGURE = 2 ** 63;

export class Late extends Error {}

/** @throws Late if it takes longer; what comes then is ignored, also an error */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Late(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
