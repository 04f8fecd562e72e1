/** Computes for so many of each so many milliseconds, until it is killed: `hog.js <busy> <period>`. */
const [busyMs, periodMs] = process.argv.slice(2).map(Number);
setInterval(() => {
  const before = performance.now();
  while (performance.now() - before < busyMs);
}, periodMs);
