/**
 * Counts memory of this process that only the process itself can see. The functions use nothing outside themselves,
 * because their source texts are also evaluated in other processes.
 */
import type * as fileSystem from 'node:fs';
import type * as v8Module from 'node:v8';

type Files = Pick<typeof fileSystem, 'readFileSync' | 'openSync' | 'readSync' | 'closeSync'>;

/**
 * Counts the bytes that glibc's `malloc` has allocated in this process. It walks through the chunks of the main heap,
 * `[heap]` in /proc/self/maps, which the first thread uses for Node's event loop. Chunks of 128 KB and more, and heaps
 * of other threads, are not counted.
 * @returns bytes; undefined if the process has another allocator, or if the heap exceeds 256 MB
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
    // The read buffer is small, because it can be part of the counted heap.
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
        // If the read fails at the end of the heap, malloc may have returned that memory to the kernel. The count is
        // valid only then.
        if (read < 16) return chunk === readMaps()[1] ? used : undefined;
      }
      const low = window.readUInt32LE(chunk - at + 8);
      const size = low - (low % 8) + 2 ** 32 * window.readUInt32LE(chunk - at + 12);
      // The lowest bit of a chunk's size is set if the previous chunk is in use.
      if (low % 2 === 1) used += previous;
      // The last chunk of the heap is free. Its end can be beyond the heap's former end, because the heap may have
      // grown during the count.
      if (chunk + size >= end) return used;
      if (size < 32) return undefined;
      previous = size;
      chunk += size;
    }
  } finally {
    files.closeSync(memory);
  }
}

/**
 * Counts the bytes of compiled code in V8's heap: bytecode, machine code and their tables. V8 compiles a function when
 * it has run often enough, once for all connections.
 */
export function compiledBytes(v8: Pick<typeof v8Module, 'getHeapSpaceStatistics'>): number {
  return v8
    .getHeapSpaceStatistics()
    .filter(({ space_name: name }) => /code|trusted/.test(name))
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}
