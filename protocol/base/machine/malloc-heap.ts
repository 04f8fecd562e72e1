/**
 * The heap of a process's own `malloc`, `[heap]` in /proc/PID/smaps. With glibc it has what the first thread allocates, as Node's event
 * loop does. Other threads have heaps of their own, where V8's helper threads leave up to 2 MB of free pages at a collection.
 */
const GLIBC = /\/libc(-2\.\d+)?\.so/;
const OTHER_ALLOCATOR = /jemalloc|tcmalloc|mimalloc/;
const HEAPS = /\[heap\]\nSize:.*\n(?:\w+:.*\n)*?Rss: +(\d+) kB/g;

/**
 * @param smaps content of /proc/PID/smaps
 * @returns resident bytes; undefined if the process has another allocator
 */
export function mallocHeapBytes(smaps: string): number | undefined {
  if (!GLIBC.test(smaps) || OTHER_ALLOCATOR.test(smaps)) return undefined;
  return [...smaps.matchAll(HEAPS)].reduce((sum, [, kilobytes]) => sum + 1024 * Number(kilobytes), 0);
}
