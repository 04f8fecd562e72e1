/** @returns what the work does; undefined if it throws, as where a file is missing, or belongs to somebody else */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
