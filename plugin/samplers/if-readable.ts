/** @returns undefined of what throws: it has ended, is somebody else's, or this system has none */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
