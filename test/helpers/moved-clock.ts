/**
 * @param us how far the process's monotonic clock is ahead of all others; negative if it is behind
 * @returns arguments for Node
 */
export function movedClock(us: number): string[] {
  const code = `const real = process.hrtime.bigint; process.hrtime.bigint = () => real() + ${us * 1000}n;`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

/** @param rate of drift @param jumpMs at each SIGUSR2 @returns arguments for Node */
export function driftingClock(rate: number, jumpMs: number): string[] {
  const code = `
    const real = performance.now.bind(performance);
    let jumpedMs = 0;
    process.on('SIGUSR2', () => { jumpedMs += ${jumpMs}; });
    performance.now = () => real() * ${1 + rate} + jumpedMs;`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
