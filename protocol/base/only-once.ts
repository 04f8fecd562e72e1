/** @returns does the work on its first call; every call returns what that did */
export function onlyOnce<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
