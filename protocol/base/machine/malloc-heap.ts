import type * as fileSystem from 'node:fs';

type Files = Pick<typeof fileSystem, 'readFileSync' | 'openSync' | 'readSync' | 'closeSync'>;

/**
 * Counts what `malloc` of glibc has handed out in this process: chunk by chunk through its main heap, `[heap]` in /proc/self/maps, in which
 * the first thread allocates, as Node's event loop does. Not counted are chunks of 128 KB and more, and the heaps of other threads. The
 * function refers to nothing outside itself, because its source text is evaluated in other processes, too.
 * @returns bytes; undefined if the process has another allocator, or more than 256 MB to look at
 */
export function allocatedBytes(files: Files): number | undefined {
  const readMaps = () => {
    const maps = files.readFileSync('/proc/self/maps', 'utf8');
    if (!/\/libc(-2\.\d+)?\.so/.test(maps) || /jemalloc|tcmalloc|mimalloc/.test(maps)) return [];
    return (
      /^([\da-f]+)-([\da-f]+) .*\[heap\]$/m
        .exec(maps)
        ?.slice(1)
        .map((hex) => Number.parseInt(hex, 16)) ?? []
    );
  };
  const [begin = Number.NaN, end = Number.NaN] = readMaps();
  if (!(end - begin <= 256 * 1024 ** 2)) return undefined;
  const memory = files.openSync('/proc/self/mem', 'r');
  try {
    // It is in the heap, too, so it is small.
    const window = Buffer.alloc(8192);
    let [at, read, used, previous] = [0, 0, 0, 0];
    for (let chunk = begin; ; ) {
      if (chunk < at || chunk + 16 > at + read) {
        at = chunk;
        try {
          read = files.readSync(memory, window, 0, window.length, at);
        } catch {
          read = 0;
        }
        // Meanwhile, malloc may have given back the end of the heap.
        if (read < 16) return chunk === readMaps()[1] ? used : undefined;
      }
      const low = window.readUInt32LE(chunk - at + 8);
      const size = low - (low % 8) + 2 ** 32 * window.readUInt32LE(chunk - at + 12);
      // The lowest bit says whether the previous chunk is in use.
      if (low % 2 === 1) used += previous;
      // The last chunk is the free rest. The heap may have grown meanwhile.
      if (chunk + size >= end) return used;
      if (size < 32) return undefined;
      previous = size;
      chunk += size;
    }
  } finally {
    files.closeSync(memory);
  }
}
