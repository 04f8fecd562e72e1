/** Runtimes of servers, and the texts for each of them. */

/** Runtimes that a run recognises by the name of the program. `node` includes Deno. */
export const SERVER_RUNTIMES = ['node', 'jvm', 'go', 'bun', 'python', 'other'] as const;
export type ServerRuntime = (typeof SERVER_RUNTIMES)[number];

/**
 * Runtimes whose memory can be read from outside the process after a garbage collection (`workers.inspect`). `by`: the
 * tool that forces the collection and reads the memory. `counted`: what the figure includes.
 */
export const INSPECTION_METHODS = {
  v8: { by: 'Node’s inspector', counted: 'V8 counts' },
  jvm: { by: 'the JVM’s attach protocol', counted: 'the JVM counts in its heap, without direct buffers' },
  go: {
    by: 'Go’s pprof',
    counted: 'Go counts in its heap and the stacks of its goroutines, without memory of C code and mmap',
  },
} as const;

export type InspectedRuntime = keyof typeof INSPECTION_METHODS;
export const INSPECTED_RUNTIMES = Object.keys(INSPECTION_METHODS) as InspectedRuntime[];
