/** Returns a function that does the work on its first call; later calls return the same result. */
export function onlyOnce<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
