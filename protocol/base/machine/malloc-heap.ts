/**
 * The heap of a process's own `malloc`, `[heap]` in /proc/PID/smaps. With glibc it has what the first thread allocates, as Node's event
 * loop does. Other threads have heaps of their own, where V8's helper threads leave up to 2 MB of free pages at a collection. The function
 * refers to nothing outside itself, because its source text is evaluated in other processes, too.
 * @param smaps content of /proc/PID/smaps
 * @returns resident bytes; undefined if the process has another allocator
 */
export function mallocHeapBytes(smaps: string): number | undefined {
  if (!/\/libc(-2\.\d+)?\.so/.test(smaps) || /jemalloc|tcmalloc|mimalloc/.test(smaps)) return undefined;
  const heaps = smaps.matchAll(/\[heap\]\nSize:.*\n(?:\w+:.*\n)*?Rss: +(\d+) kB/g);
  return [...heaps].reduce((sum, [, kilobytes]) => sum + 1024 * Number(kilobytes), 0);
}
