/** Common parts of all ways to read the memory of a process from outside, and the way that its runtime supports. */

import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { InspectedRuntime, Runtime } from '../../../protocol/documents/server-runtimes.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import type { Profile, ProfileKind } from '../../../protocol/profiles/profile-schema.ts';

/** Timeout of a collection: a full collection of a heap of some GB takes seconds. */
export const GC_TIMEOUT_MS = 60_000;
/** Number of collections: finalizers of the first one free memory that only the second one counts. */
export const COLLECTIONS = 2;

export const bytesSchema = z.number().nonnegative().lte(LARGEST_FIGURE);

export interface InspectedMemory {
  /** All memory that the runtime counts: the heap, and the memory beside it that it knows of. */
  keptBytes: number;
  heapUsedBytes: number;
  /** Resident memory; undefined, like `externalBytes`, if the runtime does not report it. */
  rssBytes?: number;
  externalBytes?: number;
  /** Memory that `malloc` has handed out on the main thread. */
  mallocBytes?: number;
  /** Longest pause of the process by this reading and the collections before it. */
  pauseMs: number;
}

/** A process whose memory is read from outside. */
export interface Inspected {
  name: string;
  runtime: InspectedRuntime;
  /**
   * @param collect whether to force a full collection before the reading
   * @throws CapacityError or Absent
   */
  read(collect: boolean): Promise<InspectedMemory>;
  /** Takes profiles; undefined if this project reads none of the runtime. */
  profiles?: InspectedProfiles;
  /** Idempotent; never rejects. */
  close(): Promise<void>;
}

/** Profiles of a process. Each function throws CapacityError or Absent. */
export interface InspectedProfiles {
  start(kind: ProfileKind): Promise<void>;
  take(): Promise<Profile>;
  /** Idempotent; never rejects. */
  end(): Promise<void>;
}

/** Runtimes, each with a pattern of its programs. */
const PROGRAMS: [Runtime, RegExp][] = [
  ['node', /^(node|nodejs|deno)([-_.]?v?\d[\w.-]*)?$/],
  ['jvm', /^java$/],
  ['bun', /^bunx?(-\w+)*(\.exe)?$/],
  ['python', /^(python|pypy)[\d.]*t?$/],
];
/** ELF note with the build id of a Go program: the note's type and owner. */
const GO_NOTE = Buffer.from('\x04\0\0\0Go\0\0', 'latin1');
/** Number of bytes to search for notes: linkers put them at the beginning. */
const NOTES_BYTES = 64 * 1024;

/** Returns undefined for a process that has ended, or whose program this user cannot see. */
export function runtimeOf(pid: number): Runtime | undefined {
  const path = attempt(() => readlinkSync(`/proc/${pid}/exe`));
  if (path === undefined) return undefined;
  const program = basename(path).replace(/ \(deleted\)$/, '');
  const named = PROGRAMS.find(([, pattern]) => pattern.test(program));
  if (named) return named[0];
  return attempt(() => beginningOfProgram(pid))?.includes(GO_NOTE) ? 'go' : 'other';
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
