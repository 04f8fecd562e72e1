/**
 * @param us how far the process's monotonic clock is ahead of all others; negative if it is behind
 * @returns arguments for Node
 */
export function movedClock(us: number): string[] {
  const code = `const real = process.hrtime.bigint; process.hrtime.bigint = () => real() + ${us * 1000}n;`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
