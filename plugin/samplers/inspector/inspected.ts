/** Reading the memory of a process from outside: what every way has in common, and which way its runtime offers. */

import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { InspectedRuntime, Runtime } from '../../../protocol/documents/server-runtimes.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import type { Profile, ProfileKind } from '../../../protocol/profiles/profile-schema.ts';

/** A full garbage collection of a heap of some GB takes seconds. */
export const GC_TIMEOUT_MS = 60_000;
/** Finalizers of the first collection free memory that only the second one counts. */
export const COLLECTIONS = 2;

/** Schema of an amount of memory. */
export const bytesSchema = z.number().nonnegative().lte(LARGEST_FIGURE);

export interface InspectedMemory {
  /** All that the runtime counts: heap, and what it knows of beside it. */
  keptBytes: number;
  heapUsedBytes: number;
  /** Undefined if the runtime does not report it, like the figure below. */
  rssBytes?: number;
  externalBytes?: number;
  /** What `malloc` has handed out on the main thread. */
  mallocBytes?: number;
  /** Longest stop of the process by this reading and the collections before it. */
  pauseMs: number;
}

/** One process. */
export interface Inspected {
  name: string;
  runtime: InspectedRuntime;
  /** @param collect whether to force a full collection before @throws CapacityError or Absent */
  read(collect: boolean): Promise<InspectedMemory>;
  /** Undefined if the runtime has no profiles that this project reads. */
  profiles?: InspectedProfiles;
  /** Idempotent; never rejects. */
  close(): Promise<void>;
}

/** Each function throws CapacityError or Absent. */
export interface InspectedProfiles {
  start(kind: ProfileKind): Promise<void>;
  take(): Promise<Profile>;
  /** Idempotent; never rejects. */
  end(): Promise<void>;
}

/** Runtime of a process, by its program. */
const PROGRAMS: [Runtime, RegExp][] = [
  ['node', /^(node|nodejs|deno)([-_.]?v?\d[\w.-]*)?$/],
  ['jvm', /^java$/],
  ['bun', /^bunx?(-\w+)*(\.exe)?$/],
  ['python', /^(python|pypy)[\d.]*t?$/],
];
/** ELF note in which every Go program has its build id: its type, and its owner. */
const GO_NOTE = Buffer.from('\x04\0\0\0Go\0\0', 'latin1');
/** Linkers put notes at the beginning. */
const NOTES_BYTES = 64 * 1024;

/** @returns undefined for a process that has ended, or whose program this user cannot see */
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
