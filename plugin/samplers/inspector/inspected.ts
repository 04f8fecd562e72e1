/** What every way to read the memory of a process from outside has in common. */
import { z } from 'zod';
import type { InspectedRuntime } from '../../../protocol/documents/server-runtimes.ts';
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
