/** Returns a function that calls `work` once. Later calls return the first result. */
export function onlyOnce<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
