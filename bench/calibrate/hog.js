/** Uses the CPU for `busy` of every `period` milliseconds until it is killed: `hog.js <busy> <period>`. */
const [busyMs, periodMs] = process.argv.slice(2).map(Number);
setInterval(() => {
  const before = performance.now();
  while (performance.now() - before < busyMs);
}, periodMs);
