/** Whether a client has the control token: looked at before anything else of what it sends, and in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export function tokenCheck(token: string): (given: unknown) => boolean {
  const expected = digest(token);
  // Its length is no secret; a text of any other length is not even hashed.
  return (given) =>
    typeof given === 'string' && given.length === token.length && timingSafeEqual(digest(given), expected);
}

/** @returns what a request gives as its token: `Authorization: Bearer <token>` */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Digests have one length, which timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
