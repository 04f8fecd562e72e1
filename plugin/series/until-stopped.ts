/** Runs with a signal that aborts on Ctrl-C or SIGTERM, instead of ending this process. */
export async function untilStopped<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await run(abort.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
