/** Returns the result of `work`; undefined if it throws, for example because a file is missing or not readable. */
export function tryOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
