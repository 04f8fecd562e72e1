/** Compares the control token in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** @returns whether what a client gave is the token */
export function tokenCheck(token: string): (given: unknown) => boolean {
  const expected = digest(token);
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), expected);
}

/** Digests have one length, which timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
