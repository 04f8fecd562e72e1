/** Checks names in a server's answers, such as a worker or a room. */

/** Longest accepted name. Names are kept for every connection, so a server must not fill the memory with them. */
const MAX_LENGTH = 200;

/** Returns the value as a name; undefined if it is empty, too long or not a string. */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH ? value : undefined;
}
