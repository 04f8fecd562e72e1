/** Validates names in a server's answers, such as the name of a worker or room. */

/** Longest accepted name. Each connection stores names, so long names would fill the memory. */
const MAX_LENGTH = 200;

/** Returns the value if it is a valid name; undefined if it is empty, too long or not a string. */
export function validServerName(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH ? value : undefined;
}
