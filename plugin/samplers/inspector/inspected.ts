/**
 * Types for reading the memory of a process from outside, and the runtime of a process, which determines how its memory
 * is read.
 */

import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { InspectedRuntime, ServerRuntime } from '../../../protocol/documents/server-runtimes.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import type { ProfileKind, V8Profile } from '../../../protocol/profiles/profile-schema.ts';

/** Timeout of a garbage collection in milliseconds. A full collection of a heap of some GB takes seconds. */
export const GC_TIMEOUT_MS = 60_000;
/**
 * Number of garbage collections before a reading: memory that finalizers free after the first collection is only
 * reclaimed by the second collection.
 */
export const COLLECTIONS_PER_READING = 2;

export const bytesSchema = z.number().nonnegative().lte(LARGEST_FIGURE);

export interface InspectedMemory {
  /** All memory that the runtime counts: the heap, and memory outside the heap that belongs to its objects. */
  keptBytes: number;
  heapUsedBytes: number;
  /** Resident memory of the process; undefined if the runtime does not report it. */
  rssBytes?: number;
  externalBytes?: number;
  /** Memory that `malloc` has allocated on the main thread; undefined if another thread serves connections. */
  mallocBytes?: number;
  /** Compiled code in the heap. Missing if the runtime does not report it. */
  codeBytes?: number;
  /** Longest pause of the process that this reading and its garbage collections caused. */
  pauseMs: number;
}

/** A process whose memory is read from outside. */
export interface InspectedProcess {
  name: string;
  runtime: InspectedRuntime;
  /**
   * Reads the memory of the process.
   * @param collect whether to force a full garbage collection before the reading
   * @throws CapacityError or SourceAbsentError
   */
  read(collect: boolean): Promise<InspectedMemory>;
  /** Takes profiles of the process; undefined if profiles of its runtime are not supported. */
  profiles?: InspectedProfiles;
  /** Closes the connection to the process. Idempotent; never rejects. */
  close(): Promise<void>;
}

/** Profiles of a process. Each function can throw a CapacityError or SourceAbsentError. */
export interface InspectedProfiles {
  start(kind: ProfileKind): Promise<void>;
  take(): Promise<V8Profile>;
  /** Stops profiling. Idempotent; never rejects. */
  end(): Promise<void>;
}

/** Runtimes, each with a pattern that matches the names of its programs. */
const PROGRAMS: [ServerRuntime, RegExp][] = [
  ['node', /^(node|nodejs|deno)([-_.]?v?\d[\w.-]*)?$/],
  ['jvm', /^java$/],
  ['bun', /^bunx?(-\w+)*(\.exe)?$/],
  ['python', /^(python|pypy)[\d.]*t?$/],
];
/** Header of the ELF note that contains the build id of a Go program: type and owner of the note. */
const GO_NOTE = Buffer.from('\x04\0\0\0Go\0\0', 'latin1');
/**
 * Number of bytes at the beginning of a program in which the ELF note is searched, because linkers place notes there.
 */
const NOTES_BYTES = 64 * 1024;

/**
 * Returns the runtime of a process; undefined if the process has ended, or if the user of the run cannot read the
 * process's program file.
 */
export function runtimeOfProcess(pid: number): ServerRuntime | undefined {
  const path = tryOrUndefined(() => readlinkSync(`/proc/${pid}/exe`));
  if (path === undefined) return undefined;
  const program = basename(path).replace(/ \(deleted\)$/, '');
  const named = PROGRAMS.find(([, pattern]) => pattern.test(program));
  if (named) return named[0];
  return tryOrUndefined(() => beginningOfProgram(pid))?.includes(GO_NOTE) ? 'go' : 'other';
}

function beginningOfProgram(pid: number): Buffer {
  const file = openSync(`/proc/${pid}/exe`, 'r');
  try {
    const buffer = Buffer.alloc(NOTES_BYTES);
    return buffer.subarray(0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}
