/** Checks the control token in constant time, before anything else in a request is read. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export function tokenCheck(token: string): (given: unknown) => boolean {
  const expected = digest(token);
  // The length is no secret, so texts of another length are not hashed.
  return (given) =>
    typeof given === 'string' && given.length === token.length && timingSafeEqual(digest(given), expected);
}

/** Returns the token of the header `Authorization: Bearer <token>`. */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Digests all have the same length, which timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
