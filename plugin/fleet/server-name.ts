/** Names in a server's answers, such as that of a worker or a room. */

/** They are kept for every connection: a server must not fill the memory with them. */
const MAX_LENGTH = 200;

/** @returns undefined if it is no name, or nobody would want to read it */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH ? value : undefined;
}
